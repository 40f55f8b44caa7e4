/* windows.c: the functions of POSIX that the library uses and Windows lacks, or has with another meaning. */
#include "system.h"

#ifdef _WIN32
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

enum { LONGEST_PATH = 4096 };

/* Sets errno to what the last call of Windows found; returns -1. */
static int failed(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_NETPATH:         errno = ENOENT; break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_USER_MAPPED_FILE:    errno = EACCES; break;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:      errno = EEXIST; break;
    case ERROR_LOCK_VIOLATION:
    case ERROR_IO_PENDING:          errno = EWOULDBLOCK; break;
    case ERROR_HANDLE_DISK_FULL:
    case ERROR_DISK_FULL:           errno = ENOSPC; break;
    case ERROR_NOT_ENOUGH_MEMORY:   errno = ENOMEM; break;
    case ERROR_DIRECTORY:           errno = ENOTDIR; break;
    default:                        errno = EIO;
    }
    return -1;
}

static HANDLE handle_of(int fd)
{
    return (HANDLE)_get_osfhandle(fd);
}

static bool to_wide(const char *path, wchar_t wide[LONGEST_PATH])
{
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, LONGEST_PATH) > 0) return true;
    errno = ENOENT;
    return false;
}

static HANDLE open_handle(const char *path, DWORD access, DWORD creation)
{
    wchar_t wide[LONGEST_PATH];
    if (!to_wide(path, wide)) return INVALID_HANDLE_VALUE;
    HANDLE h = CreateFileW(wide, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, creation,
                           FILE_FLAG_BACKUP_SEMANTICS, NULL);       /* which opens folders, too */
    if (h == INVALID_HANDLE_VALUE) failed();
    return h;
}

int system_open(const char *path, int flags, ...)
{
    bool writes = flags & (O_WRONLY | O_RDWR);
    HANDLE h = open_handle(path, writes ? GENERIC_READ | GENERIC_WRITE : GENERIC_READ,
                           !(flags & O_CREAT) ? OPEN_EXISTING : flags & O_EXCL ? CREATE_NEW : OPEN_ALWAYS);
    if (h == INVALID_HANDLE_VALUE) return -1;
    int fd = _open_osfhandle((intptr_t)h, O_BINARY | O_NOINHERIT | (writes ? 0 : O_RDONLY));
    struct system_stat status;
    if (fd >= 0 && flags & O_DIRECTORY && system_fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode)) {
        _close(fd);
        errno = ENOTDIR;
        return -1;
    }
    return fd;
}

static int handle_status(HANDLE h, struct system_stat *status)
{
    BY_HANDLE_FILE_INFORMATION about;
    *status = (struct system_stat){ .st_mode = S_IFIFO };
    if (GetFileType(h) != FILE_TYPE_DISK) return 0;
    if (!GetFileInformationByHandle(h, &about)) return failed();
    status->st_mode = (about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? S_IFDIR : S_IFREG) | 0666;
    status->st_size = (int64_t)((uint64_t)about.nFileSizeHigh << 32 | about.nFileSizeLow);
    status->st_ino = (uint64_t)about.nFileIndexHigh << 32 | about.nFileIndexLow;
    status->st_dev = about.dwVolumeSerialNumber;
    return 0;
}

int system_fstat(int fd, struct system_stat *status)
{
    return handle_status(handle_of(fd), status);
}

int system_stat(const char *path, struct system_stat *status)
{
    HANDLE h = open_handle(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING);
    if (h == INVALID_HANDLE_VALUE) return -1;
    int result = handle_status(h, status);
    CloseHandle(h);
    return result;
}

int system_rename(const char *from, const char *to)
{
    wchar_t wide_from[LONGEST_PATH], wide_to[LONGEST_PATH];
    if (!to_wide(from, wide_from) || !to_wide(to, wide_to)) return -1;
    return MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) ? 0 : failed();
}

int system_unlink(const char *path)
{
    wchar_t wide[LONGEST_PATH];
    return !to_wide(path, wide) ? -1 : DeleteFileW(wide) ? 0 : failed();
}

/* A folder cannot be locked: a mutex with its number stands for it. A file is locked beyond its end, because others may not
 * read what is locked. */
int flock(int fd, int how)
{
    struct system_stat status;
    if (system_fstat(fd, &status) != 0) return -1;
    if (S_ISDIR(status.st_mode)) {
        char name[64];
        snprintf(name, sizeof name, "kaeru-%llx-%llx", (unsigned long long)status.st_dev, (unsigned long long)status.st_ino);
        HANDLE mutex = CreateMutexA(NULL, FALSE, name);
        if (!mutex) return failed();
        if (WaitForSingleObject(mutex, how & LOCK_NB ? 0 : INFINITE) != WAIT_TIMEOUT) return 0;
        CloseHandle(mutex);
        errno = EWOULDBLOCK;
        return -1;
    }
    OVERLAPPED place = { .OffsetHigh = 1u << 30 };
    DWORD flags = LOCKFILE_EXCLUSIVE_LOCK | (how & LOCK_NB ? LOCKFILE_FAIL_IMMEDIATELY : 0);
    return LockFileEx(handle_of(fd), flags, 0, 1, 0, &place) ? 0 : failed();
}

void *mmap(void *at, size_t n, int access, int flags, int fd, off64_t offset)
{
    (void)at, (void)access, (void)flags, (void)offset;
    HANDLE mapping = CreateFileMappingW(handle_of(fd), NULL, PAGE_READONLY, 0, 0, NULL);
    void *p = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, n) : NULL;
    if (!p) failed();
    if (mapping) CloseHandle(mapping);                  /* the view keeps it */
    return p ? p : MAP_FAILED;
}

int munmap(void *p, size_t n)
{
    (void)n;
    return UnmapViewOfFile(p) ? 0 : failed();
}

ssize_t pread(int fd, void *out, size_t n, off64_t offset)
{
    OVERLAPPED place = { .Offset = (DWORD)offset, .OffsetHigh = (DWORD)((uint64_t)offset >> 32) };
    DWORD got = 0;
    if (ReadFile(handle_of(fd), out, (DWORD)n, &got, &place) || GetLastError() == ERROR_HANDLE_EOF) return got;
    return failed();
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off64_t offset)
{
    OVERLAPPED place = { .Offset = (DWORD)offset, .OffsetHigh = (DWORD)((uint64_t)offset >> 32) };
    DWORD wrote = 0;
    return WriteFile(handle_of(fd), bytes, (DWORD)n, &wrote, &place) ? (ssize_t)wrote : failed();
}

void system_each_name(const char *folder, void (*each)(void *arg, const char *name), void *arg)
{
    wchar_t wide[LONGEST_PATH];
    char name[4 * MAX_PATH], pattern[LONGEST_PATH];
    WIN32_FIND_DATAW found;
    if (snprintf(pattern, sizeof pattern, "%s/*", folder) >= (int)sizeof pattern || !to_wide(pattern, wide)) return;
    HANDLE names = FindFirstFileW(wide, &found);
    if (names == INVALID_HANDLE_VALUE) return;
    do {
        if (WideCharToMultiByte(CP_UTF8, 0, found.cFileName, -1, name, sizeof name, NULL, NULL)) each(arg, name);
    } while (FindNextFileW(names, &found));
    FindClose(names);
}

ssize_t system_readlink(const char *path, char *out, size_t n)
{
    wchar_t wide[LONGEST_PATH];
    DWORD kind = to_wide(path, wide) ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    if (kind == INVALID_FILE_ATTRIBUTES || !(kind & FILE_ATTRIBUTE_REPARSE_POINT)) return -1;
    HANDLE h = open_handle(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING);
    if (h == INVALID_HANDLE_VALUE) return -1;
    DWORD length = GetFinalPathNameByHandleW(h, wide, LONGEST_PATH, 0);
    CloseHandle(h);
    if (length == 0 || length >= LONGEST_PATH) return -1;
    int bytes = WideCharToMultiByte(CP_UTF8, 0, wide, (int)length, out, (int)n, NULL, NULL);
    for (int i = 0; i < bytes; i++)
        if (out[i] == '\\') out[i] = '/';
    return bytes > 0 ? bytes : -1;
}
#else
typedef int SystemIsNotWindows;                         /* C has no empty file */
#endif
