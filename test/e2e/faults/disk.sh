#!/bin/sh
# disk.sh IMAGE FOLDER SIZE: mounts a disk in a file, and does to it what the lines of its input say.
# One step for each line of its input. When that ends, however it does, the disk is thawed and removed: no signal could
# end a process that hangs on it. While it is not mounted, nothing can be written in its place: that is a file system
# which is only read.
set -e
image=$1 place=$2
truncate -s "$3" "$image"
mkfs.ext4 -q -F "$image"
mount -t tmpfs none "$place"
mkdir "$place/disk"
mount -o remount,ro "$place"
mount -o loop "$image" "$place/disk"
trap 'fsfreeze --unfreeze "$place/disk" 2>/dev/null || true; umount --lazy "$place/disk"; umount --lazy "$place"' EXIT
echo done
while read -r step; do
  case "$step" in
    freeze | unfreeze) fsfreeze "--$step" "$place/disk" ;;
    fail) mount -o remount,abort "$place/disk" ;;
    repair)
      until umount "$place/disk" 2>/dev/null; do sleep 0.1; done
      # A copy, because in another mount namespace the broken file system may still be mounted, and the same file would
      # break again.
      cp "$image" "$image.repaired"
      image=$image.repaired
      mount -o loop "$image" "$place/disk"
      ;;
  esac
  echo done
done
