import { assertEquals } from "@std/assert";
import { InitEpisode } from "../../src/host/init_episode.ts";

const SECOND_NS = 1_000_000_000n;

Deno.test("tries that follow one another are one episode", () => {
  const episode = new InitEpisode();
  assertEquals(episode.note(1000, 0n), true);
  for (let i = 1; i <= 200; i++) {
    assertEquals(episode.note(1000 + i * 55, BigInt(i) * SECOND_NS / 18n), false);
  }
  assertEquals(episode.note(12_251), true);
});

Deno.test("a jump of the host's time begins an episode, as the guest's stands still", () => {
  const episode = new InitEpisode();
  episode.note(1000, 0n);
  assertEquals(episode.note(1055, 30n * SECOND_NS), true);
  assertEquals(episode.note(1110, 30n * SECOND_NS), false);
  assertEquals(episode.note(1120), false);
  assertEquals(episode.note(1130, 29n * SECOND_NS), false);
});

Deno.test("work is older than the episode, which ends when no call follows", () => {
  const episode = new InitEpisode();
  assertEquals([episode.predates(500), episode.isOver(600)], [false, true]);
  episode.note(1000);
  assertEquals([episode.predates(999), episode.predates(1000)], [true, false]);
  episode.note(1200);
  assertEquals(episode.predates(1100), false);
  assertEquals([episode.isOver(1450), episode.isOver(1451)], [false, true]);
});
