/** The directories of a recursive watch, and which processes watch them. */

import { assertEquals } from "@std/assert";
import { DirectoryTree } from "../../src/watch/directory_tree.ts";
import { chooseCalmMerge, chooseMerge } from "../../src/watch/merge_policy.ts";
import { Moves } from "../../src/watch/moves.ts";

Deno.test("a path follows its directories through renames", () => {
  const tree = new DirectoryTree();
  const a = tree.add(tree.root, "a");
  const b = tree.add(a, "b");
  const c = tree.add(b, "c");
  assertEquals([tree.root, a, b, c].map((one) => tree.pathOf(one)), ["", "a", "a/b", "a/b/c"]);
  const z = tree.add(tree.root, "z");
  tree.attach(b, z, "y");
  assertEquals([tree.pathOf(c), a.children.size], ["z/y/c", 0]);
  tree.detach(z);
  assertEquals([tree.pathOf(c), tree.holds(c)], [undefined, false]);
  tree.attach(z, tree.root, "x");
  assertEquals([tree.pathOf(c), tree.holds(c)], ["x/y/c", true]);
});

Deno.test("a deleted directory keeps its last path for what is under way", () => {
  const tree = new DirectoryTree();
  const a = tree.add(tree.root, "a");
  const b = tree.add(a, "b");
  tree.remove(a);
  assertEquals([tree.pathOf(a), tree.pathOf(b), tree.holds(b)], ["a", "a/b", false]);
  const again = tree.add(tree.root, "a");
  assertEquals([tree.pathOf(again), tree.holds(again)], ["a", true]);
});

Deno.test("a directory that takes a name lets the former one go", () => {
  const tree = new DirectoryTree();
  const old = tree.add(tree.root, "a");
  const placements = old.placements;
  const moved = tree.add(tree.root, "b");
  tree.attach(moved, tree.root, "a");
  assertEquals(tree.root.children.get("a"), moved);
  assertEquals([tree.holds(old), old.placements > placements], [false, true]);
});

Deno.test("forgetting a directory forgets the inodes of all that is in it", () => {
  const tree = new DirectoryTree();
  const a = tree.add(tree.root, "a");
  const b = tree.add(a, "b");
  tree.identify(a, "1:1");
  tree.identify(b, "1:2");
  b.reporter = {};
  assertEquals(tree.byInode("1:2"), b);
  tree.forget(a);
  assertEquals([tree.byInode("1:1"), tree.byInode("1:2"), b.reporter], [
    undefined,
    undefined,
    undefined,
  ]);
  // An inode that another directory has by now is not taken from it.
  const c = tree.add(tree.root, "c");
  tree.identify(c, "1:3");
  const d = tree.add(tree.root, "d");
  tree.identify(d, "1:3");
  tree.forget(c);
  assertEquals(tree.byInode("1:3"), d);
});

Deno.test("a directory contains itself and what is below it", () => {
  const tree = new DirectoryTree();
  const a = tree.add(tree.root, "a");
  const b = tree.add(a, "b");
  assertEquals([tree.contains(a, b), tree.contains(a, a), tree.contains(b, a)], [
    true,
    true,
    false,
  ]);
});

Deno.test("both halves of a rename find each other, in either order", () => {
  const tree = new DirectoryTree();
  const a = tree.add(tree.root, "a");
  const inner = tree.add(a, "b");
  const moves = new Moves();
  tree.detach(a);
  moves.leave("1", a);
  const replayed: string[] = [];
  moves.hold(inner, () => replayed.push("inner"));
  moves.hold(tree.root, () => replayed.push("root"));
  assertEquals(moves.take("2"), undefined);
  const move = moves.take("1");
  assertEquals(move?.directory, a);
  move?.held.forEach((replay) => replay());
  assertEquals(replayed, ["inner"]);
  assertEquals(moves.take("1"), undefined);

  moves.arrive("3", inner);
  assertEquals([moves.takeArrived("3"), moves.takeArrived("3")], [inner, undefined]);
});

Deno.test("a new process takes over the small ones", () => {
  const cases: [number[], number, number, number[]][] = [
    // sizes, fresh, limit, taken
    [[], 1, 2048, []],
    [[1], 1, 2048, [0]],
    [[256], 1, 2048, [0]],
    [[257], 1, 2048, []],
    [[257, 100], 1, 2048, [1]],
    [[257, 130], 1, 2048, [1, 0]],
    [[300], 150, 2048, [0]],
    [[1000, 300], 150, 2048, [1]],
    [[800, 300], 150, 2048, [1, 0]],
    [[2000], 100, 2048, []],
    [[10], 10, 16, []],
  ];
  for (const [sizes, fresh, limit, taken] of cases) {
    assertEquals(chooseMerge(sizes, fresh, limit), taken, `${sizes} ${fresh}`);
  }
});

Deno.test("the number of processes stays small however directories come", () => {
  for (const step of [1, 3, 50, 700]) {
    let sizes: number[] = [];
    for (let made = 0; made < 30_000; made += step) {
      const taken = new Set(chooseMerge(sizes, step, 2048));
      const sum = sizes.filter((_, index) => taken.has(index)).reduce((a, b) => a + b, step);
      sizes = [...sizes.filter((_, index) => !taken.has(index)), sum];
    }
    assertEquals(sizes.length < 50, true, `${step}: ${sizes}`);
  }
});

Deno.test("in calm as much as fits becomes one", () => {
  assertEquals(chooseCalmMerge([5], 2048), []);
  assertEquals(chooseCalmMerge([1000, 5, 900], 2048), [1, 2, 0]);
  assertEquals(chooseCalmMerge([2000, 5, 900], 2048), [1, 2]);
  assertEquals(chooseCalmMerge([2000, 2000], 2048), []);
});
