import { assertEquals, assertStringIncludes } from "@std/assert";
import { AgentError, Code, errnoOf, fromOsError } from "../../src/errors.ts";
import { responseForError, statusOf } from "../../src/http/errors.ts";

function osError(errno: string): Error {
  return Object.assign(new Error(`${errno}: something`), { code: errno });
}

Deno.test("errors of the operating system get their code and HTTP status", () => {
  for (
    const [errno, code, status] of [
      ["ENOENT", Code.NotFound, 404],
      ["ENOTDIR", Code.Internal, 500],
      ["EEXIST", Code.AlreadyExists, 409],
      ["EACCES", Code.PermissionDenied, 403],
      ["EPERM", Code.PermissionDenied, 403],
      ["EROFS", Code.PermissionDenied, 403],
      ["ELOOP", Code.FailedPrecondition, 400],
      ["ENAMETOOLONG", Code.InvalidArgument, 400],
      ["ENOSPC", Code.ResourceExhausted, 507],
      ["EDQUOT", Code.ResourceExhausted, 507],
      ["EMFILE", Code.Unavailable, 503],
      ["EIO", Code.Internal, 500],
    ] as const
  ) {
    const error = fromOsError(osError(errno), "cannot open '/a'");
    assertEquals([error.code, statusOf(error.code)], [code, status], errno);
    assertStringIncludes(error.message, "cannot open '/a'");
    assertStringIncludes(error.message, errno);
  }
});

Deno.test("an error that has its code keeps it, one without is internal", () => {
  const own = new AgentError(Code.Aborted, "as it is");
  assertEquals(fromOsError(own, "again"), own);
  assertEquals(fromOsError(new Error("odd"), "trying").code, Code.Internal);
  assertEquals(fromOsError("text", "trying").message, "trying: text");
  assertEquals(errnoOf(new Error("none")), undefined);
  assertEquals(errnoOf(Object.assign(new Error(), { code: "not errno" })), undefined);
});

Deno.test("what the runtime refuses is permission_denied", () => {
  const error = fromOsError(new Deno.errors.NotCapable("Requires read access"), "cannot open '/b'");
  assertEquals(error.code, Code.PermissionDenied);
  assertEquals(error.message, "cannot open '/b': Requires read access");
});

Deno.test("HTTP errors are JSON with status and message", async () => {
  const response = responseForError(new AgentError(Code.NotFound, "path '/a' does not exist"));
  assertEquals(response.status, 404);
  assertEquals(await response.text(), `{"code":404,"message":"path '/a' does not exist"}`);
  assertEquals(responseForError(new Error("odd")).status, 500);
});
