"""Mount flags that one kind of file system knows and another refuses to be mounted with: ext4(5), xfs(5), nfs(5)."""

_EXT = (
    "abort acl auto_da_alloc barrier block_validity bsddf commit data data_err delalloc dioread_lock dioread_nolock "
    "errors init_itable journal_async_commit journal_checksum journal_ioprio max_batch_time max_dir_size_kb "
    "min_batch_time minixdf noacl noauto_da_alloc nobarrier noblock_validity nodelalloc nodioread_nolock noinit_itable "
    "nojournal_checksum noload nombcache nouser_xattr resgid resuid sb stripe user_xattr"
)
_XFS = (
    "allocsize attr2 filestreams gqnoenforce gquota ikeep inode32 inode64 largeio logbsize logbufs logdev "
    "max_atomic_write noattr2 noikeep nolargeio nouuid pqnoenforce pquota rtdev sunit swalloc swidth "
    "uqnoenforce uquota wsync"
)
_NFS = (
    "acregmax acregmin actimeo fsc hard lookupcache nconnect nfsvers nocto nolock noresvport proto resvport retrans "
    "rsize sec soft timeo vers wsize"
)
_OWN = {name: frozenset(flags.split()) for name, flags in (("ext4", _EXT), ("xfs", _XFS), ("nfs", _NFS))}


def foreign(fs_type: str, flags: list[str]) -> str:
    """Returns the first flag that only other file systems have; "" where there is none, or the kind is not known."""
    kind = "ext4" if fs_type.startswith("ext") else fs_type
    if kind not in _OWN:
        return ""
    theirs = frozenset[str]().union(*(own for name, own in _OWN.items() if name != kind)) - _OWN[kind]
    return next((flag for text in flags for flag in text.split(",") if flag.partition("=")[0] in theirs), "")
