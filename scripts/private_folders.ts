/**
 * Folders of this machine that an agent under a guest's set may write to, made private to the
 * agent's mount namespace: a local run never changes this machine's own hosts file, certificates
 * or run files. Shell text, run as root in that namespace; a copy of /etc, an empty /run but for
 * the agents' own folders, an empty folder of certificates.
 */
export const PRIVATE_FOLDERS = `
mount -t tmpfs tmpfs /mnt
mkdir /mnt/etc /mnt/run
cp -a /etc/. /mnt/etc
mount --bind /mnt/etc /etc
mount --rbind /run /mnt/run
mount -t tmpfs -o mode=755 tmpfs /run
for folder in /mnt/run/denvd-*; do
  [ -d "$folder" ] || continue
  mkdir "/run/\${folder##*/}"
  mount --rbind "$folder" "/run/\${folder##*/}"
done
umount -l /mnt
mount -t tmpfs tmpfs /usr/local/share
mkdir /usr/local/share/ca-certificates
`;
