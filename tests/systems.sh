#!/usr/bin/env bash
# Runs a command in a clone of the committed tree, as root of a fresh minimal Debian: systems.sh RELEASE FOLDER COMMAND...
# RELEASE may be trixie-arm64, which this host emulates. FOLDER keeps RELEASE.base, as mmdebstrap made it, and RELEASE, its copy,
# in which the command ran.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$2/$1.base system=$2/$1 release=$1
shift 2
arch=()
if [ "$release" != "${release%-arm64}" ]; then
    arch=(--architectures=arm64)
    release=${release%-arm64}
    grep -qs enabled /proc/sys/fs/binfmt_misc/qemu-aarch64 || [ "$(uname -m)" = aarch64 ] || {
        echo "systems: this host runs no program of arm64: mount -t binfmt_misc none /proc/sys/fs/binfmt_misc;" \
             "update-binfmts --enable qemu-aarch64" >&2; exit 1; }
fi

if [ ! -e "$base.made" ]; then
    # MIRROR, or the one that this system's own packages are from
    mirror=${MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Label: Debian' | head -n 1)}
    [ -n "$mirror" ] || { echo "systems: apt knows no mirror of Debian; make check-systems MIRROR=URL" >&2; exit 1; }
    rm -rf --one-file-system "$base"
    mkdir -p "${base%/*}"
    mmdebstrap --quiet "${arch[@]}" --variant=minbase --include=gcc,make,git,ca-certificates,libc6-dev --dpkgopt=force-unsafe-io \
        "$release" "$base" "$mirror"
    touch "$base.made"
fi
rm -rf --one-file-system "$system"
cp -a --reflink=auto "$base" "$system"
git clone -q . "$system/root/pmu-probe"

# In its own name spaces: what was mounted is gone at the end, and whatever still runs
exec unshare --mount --pid --fork --kill-child bash -euc '
    system=$0
    mount --bind "$system" "$system"
    mount -t proc proc "$system/proc"
    mount --rbind /sys "$system/sys"
    mount --rbind /dev "$system/dev"
    mount -t tmpfs tmpfs "$system/dev/shm"
    cd "$system"
    pivot_root . mnt # not chroot alone: tests enter name spaces, whose root this then is
    umount -l /mnt
    exec chroot / env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        sh -c "cd /root/pmu-probe && exec \"\$@\"" sh "$@"' "$system" "$@"
