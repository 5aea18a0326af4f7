/**
 * Which paths lie on a network file system, by /proc/<pid>/mountinfo (proc(5)). Such file
 * systems tell the kernel nothing of what other machines change, and may hang.
 */

const NETWORK_TYPE = /^(?:nfs[34]?|cifs|smb[23]?|smbfs|fuse|fuseblk|fuse\..*)$/;

export interface Mount {
  readonly point: string;
  /** File system type, such as `ext4` or `fuse.sshfs`. */
  readonly type: string;
}

/** Parses mountinfo, in its order: a later mount covers an earlier one. */
export function parseMountInfo(text: string): Mount[] {
  return text.split("\n").flatMap((line) => {
    const fields = line.split(" ");
    // 36 35 98:0 /root /mount/point options optional… - type source superoptions
    const separator = fields.indexOf("-", 6);
    const point = fields[4];
    const type = fields[separator + 1];
    if (separator < 0 || point === undefined || type === undefined) return [];
    return [{ point: unescape(point), type }];
  });
}

/** Space, tab, newline and backslash stand as octal numbers. */
function unescape(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replaceAll(
    /\\([0-7]{3})/g,
    (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

function isWithin(path: string, folder: string): boolean {
  return folder === "/" || path === folder || path.startsWith(folder + "/");
}

export function isNetworkType(type: string): boolean {
  return NETWORK_TYPE.test(type);
}

/** Type of the network file system that `path`, a true path, lies on, or undefined. */
export function networkTypeAt(path: string, mounts: readonly Mount[]): string | undefined {
  let found: Mount | undefined;
  for (const mount of mounts) {
    if (!isWithin(path, mount.point)) continue;
    if (found === undefined || mount.point.length >= found.point.length) found = mount;
  }
  return found !== undefined && isNetworkType(found.type) ? found.type : undefined;
}

/** Mount points of network file systems below `path`. */
export function networkMountsBelow(path: string, mounts: readonly Mount[]): string[] {
  return mounts
    .filter((mount) => isNetworkType(mount.type))
    .map((mount) => mount.point)
    .filter((point) => point !== path && isWithin(point, path));
}
