import { assertEquals } from "@std/assert";
import { permissionText } from "../../src/files/go_mode.ts";

// Each made with Go: fmt.Println(info.Mode()) of a file that has this st_mode.
Deno.test("permissions read as Go prints them", () => {
  const cases: [number, string][] = [
    [0o100644, "-rw-r--r--"],
    [0o100000, "----------"],
    [0o100777, "-rwxrwxrwx"],
    [0o104755, "urwxr-xr-x"],
    [0o102755, "grwxr-xr-x"],
    [0o106755, "ugrwxr-xr-x"],
    [0o101644, "trw-r--r--"],
    [0o040755, "drwxr-xr-x"],
    [0o041777, "dtrwxrwxrwx"],
    [0o042775, "dgrwxrwxr-x"],
    [0o120777, "Lrwxrwxrwx"],
    [0o010600, "prw-------"],
    [0o140755, "Srwxr-xr-x"],
    [0o060660, "Drw-rw----"],
    [0o020666, "Dcrw-rw-rw-"],
    [0o024666, "Ducrw-rw-rw-"],
  ];
  for (const [mode, text] of cases) assertEquals(permissionText(mode), text, mode.toString(8));
});
