/* host.c: see host.h. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "kaeru/tensor.h"

/* Copies the last line of a file that is not empty. */
static void last_line(FILE *file, char line[HOST_SAID])
{
    char text[HOST_SAID];
    rewind(file);
    while (fgets(text, sizeof text, file)) {
        text[strcspn(text, "\r\n")] = '\0';
        if (text[0]) {
            memcpy(line, text, sizeof text);
        }
    }
}

bool host_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

bool host_is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

FILE *host_open(const char *path)
{
    FILE *file;
    do {
        file = fopen(path, "rb");
    } while (!file && errno == EINTR);
    return file;
}

size_t host_read(void *out, size_t n, FILE *from)
{
    size_t got = 0;
    bool interrupted = true;
    while (got < n && interrupted) {
        errno = 0;
        got += fread((char *)out + got, 1, n - got, from);
        interrupted = got < n && ferror(from) && errno == EINTR;
        if (interrupted) {
            clearerr(from);
        }
    }
    return got;
}

#ifdef _WIN32
#include <direct.h>
#include <io.h>
#include <process.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

static DWORD WINAPI flush_often(void *unused)
{
    (void)unused;
    for (;;) {
        Sleep(100);
        fflush(stdout);
    }
}

/* Windows has no buffer of lines. Without a buffer, printf writes each byte alone, and a console may show the bytes of a letter
 * beyond ASCII as letters of their own. So a console gets what was printed ten times a second. */
void host_begin(void)
{
    DWORD mode;
    HANDLE out = GetStdHandle(STD_OUTPUT_HANDLE), flusher = NULL;
    SetConsoleOutputCP(CP_UTF8);
    if (GetConsoleMode(out, &mode)) {
        SetConsoleMode(out, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
        flusher = CreateThread(NULL, 0, flush_often, NULL, 0, NULL);
    }
    _fmode = _O_BINARY;                                     /* lines end with one character */
    _setmode(STDIN_FILENO, _O_BINARY);
    _setmode(STDOUT_FILENO, _O_BINARY);
    _setmode(STDERR_FILENO, _O_BINARY);
    setvbuf(stdout, NULL, flusher ? _IOFBF : _IONBF, flusher ? 1 << 16 : 0);
}

bool host_terminal(FILE *stream)
{
    return _isatty(_fileno(stream));
}

int host_columns(void)
{
    CONSOLE_SCREEN_BUFFER_INFO about;
    bool known = GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &about);
    return known ? about.srWindow.Right - about.srWindow.Left + 1 : 0;
}

bool host_utf8(void)
{
    return true;
}

void host_on_stop(void (*handler)(int number))
{
    signal(SIGTERM, handler);
    signal(SIGINT, handler);
}

int host_make_folder(const char *path)
{
    return _mkdir(path) == 0 ? 0 : errno;
}

bool host_lock_folder(const char *path)
{
    char *full = _fullpath(NULL, path, 0), name[MAX_PATH] = "kaeru-";
    for (size_t i = 0, n = strlen(name); full && full[i] && n < sizeof name - 1; i++, n++) {
        name[n] = full[i] == '\\' ? '/' : full[i];          /* a backslash has a meaning in names of mutexes */
    }
    free(full);
    HANDLE mutex = CreateMutexA(NULL, FALSE, name);
    return !mutex || WaitForSingleObject(mutex, 0) != WAIT_TIMEOUT;
}

bool host_lock_holds(const char *path)
{
    (void)path;
    return true;
}

bool host_is_link(const char *path)
{
    (void)path;
    return false;
}

void host_copy_permissions(const char *from, const char *to)
{
    (void)from;
    (void)to;
}

int host_rename(const char *from, const char *to)
{
    errno = EACCES;
    return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) ? 0 : -1;
}

double host_memory(void)
{
    MEMORYSTATUSEX about = { .dwLength = sizeof about };
    return GlobalMemoryStatusEx(&about) ? (double)about.ullTotalPhys : INFINITY;
}

void host_remove_link(const char *path)
{
    (void)path;                                             /* only administrators make links */
}

char *host_full_path(const char *path)
{
    char *full = _fullpath(NULL, path, 0), *copy = full && _access(full, F_OK) == 0 ? ag_strdup(full) : NULL;
    free(full);
    return copy;
}

const char *host_beside_program(const char *file)
{
    static char path[2 * MAX_PATH];
    DWORD length = GetModuleFileNameA(NULL, path, MAX_PATH);
    if (length == 0 || length == MAX_PATH) {
        return NULL;
    }
    char *name = strrchr(path, '\\') + 1;
    snprintf(name, sizeof path - (size_t)(name - path), "%s", file);
    return path;
}

bool host_installed(const char *program)
{
    char found[MAX_PATH];
    return SearchPathA(NULL, program, ".exe", sizeof found, found, NULL) > 0;
}

int host_run(const char *const argv[], const char *folder, int *error, char said[HOST_SAID])
{
    FILE *to = tmpfile();
    int before = _dup(STDERR_FILENO);
    char *here = _getcwd(NULL, 0);
    said[0] = '\0';
    fflush(NULL);
    if (to) {
        _dup2(_fileno(to), STDERR_FILENO);
    }
    intptr_t status = _chdir(folder) == 0 ? _spawnvp(_P_WAIT, argv[0], argv) : -1;
    *error = status == -1 ? errno : 0;
    _chdir(here);
    _dup2(before, STDERR_FILENO);
    _close(before);
    free(here);
    if (to) {
        last_line(to, said);
        fclose(to);
    }
    return (int)status;
}

ptrdiff_t host_read_line(char **line, size_t *capacity, FILE *from)
{
    ptrdiff_t n = 0;
    for (int c = 0; c != '\n' && (c = getc(from)) != EOF; (*line)[n] = '\0') {
        if ((size_t)n + 2 > *capacity) {
            *capacity = 2 * *capacity + 80;
            char *larger = realloc(*line, *capacity);
            if (!larger) {
                return -1;
            }
            *line = larger;
        }
        (*line)[n++] = (char)c;
    }
    return n > 0 ? n : -1;
}

bool host_draws_japanese(void)
{
    return true;                                            /* Windows has such fonts */
}
#else
#include <langinfo.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

/* A file that the program opens must not become a standard stream. If one of the three is closed, the program gets
 * /dev/null in its place, opened in the wrong direction: reading or writing it fails, and the program reports that. */
void host_begin(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) {
            _Exit(1);
        }
    }
    signal(SIGXFSZ, SIG_IGN);                               /* a write beyond `ulimit -f` fails instead */
    setvbuf(stdout, NULL, _IOLBF, 0);                       /* line buffered, also into a pipe */
}

bool host_terminal(FILE *stream)
{
    const char *term = getenv("TERM");
    return isatty(fileno(stream)) && term && strcmp(term, "dumb") != 0;
}

int host_columns(void)
{
    struct winsize size;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool host_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* SIGUSR1: Open MPI's mpirun sends SIGTERM to itself alone and kills after two seconds. */
void host_on_stop(void (*handler)(int number))
{
    static const int numbers[] = { SIGTERM, SIGUSR1, SIGINT };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before, after = { .sa_handler = handler, .sa_flags = SA_RESTART };
        if (numbers[i] == SIGINT) {
            after.sa_flags |= SA_RESETHAND;
        }
        sigaction(numbers[i], &after, &before);
        if (numbers[i] == SIGINT && before.sa_handler == SIG_IGN) {     /* a shell does so for a program in its background */
            sigaction(SIGINT, &before, NULL);
        }
    }
}

int host_make_folder(const char *path)
{
    int result;
    do {
        result = mkdir(path, 0777);
    } while (result < 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

static int locked_folder = -1;

bool host_lock_folder(const char *path)
{
    int result;
    do {
        locked_folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } while (locked_folder < 0 && errno == EINTR);
    do {
        result = locked_folder < 0 ? 0 : flock(locked_folder, LOCK_EX | LOCK_NB);
    } while (result < 0 && errno == EINTR);
    return result == 0 || errno != EWOULDBLOCK;
}

/* If there is no folder at all, writing there tells why. */
bool host_lock_holds(const char *path)
{
    struct stat locked, now;
    return locked_folder < 0 || fstat(locked_folder, &locked) != 0 || stat(path, &now) != 0 ||
           (locked.st_dev == now.st_dev && locked.st_ino == now.st_ino);
}

bool host_is_link(const char *path)
{
    struct stat named;
    return lstat(path, &named) == 0 && S_ISLNK(named.st_mode);
}

void host_copy_permissions(const char *from, const char *to)
{
    struct stat about;
    if (stat(from, &about) == 0 && S_ISREG(about.st_mode)) {
        chmod(to, about.st_mode & 0777);
    }
}

int host_rename(const char *from, const char *to)
{
    int result;
    do {
        result = rename(from, to);
    } while (result < 0 && errno == EINTR);
    return result;
}

double host_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (double)pages * (double)page : INFINITY;
}

void host_remove_link(const char *path)
{
    struct stat named, leads_to;
    bool is_device = stat(path, &leads_to) == 0 && S_ISCHR(leads_to.st_mode);
    if (!is_device && lstat(path, &named) == 0 && (S_ISLNK(named.st_mode) || (S_ISREG(named.st_mode) && named.st_nlink > 1))) {
        unlink(path);
    }
}

char *host_full_path(const char *path)
{
    char *full = realpath(path, NULL), *copy = full ? ag_strdup(full) : NULL;
    free(full);
    return copy;
}

const char *host_beside_program(const char *file)
{
    (void)file;
    return NULL;
}

bool host_installed(const char *program)
{
    const char *path = getenv("PATH");
    for (size_t n; path && *path; path += n + (path[n] == ':')) {
        char file[PATH_MAX];
        n = strcspn(path, ":");
        int length = snprintf(file, sizeof file, "%.*s/%s", (int)n, path, program);
        if (length < (int)sizeof file && access(file, F_OK) == 0) {
            return true;
        }
    }
    return false;
}

int host_run(const char *const argv[], const char *folder, int *error, char said[HOST_SAID])
{
    int status = 0, report[2];              /* a pipe: the child writes its errno to it, and a started program closes it */
    said[0] = '\0';
    if (pipe(report) != 0) {
        *error = errno;
        return 0;
    }
    FILE *to = tmpfile();                   /* NULL: the program writes to this program's stderr */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (to) {
            dup2(fileno(to), STDERR_FILENO);
        }
        if (!host_utf8()) {
            setenv("LC_ALL", "C.UTF-8", 1);                     /* or gnuplot warns about the figures' UTF-8 */
        }
        int nothing = open("/dev/null", O_RDONLY);
        if (fcntl(report[1], F_SETFD, FD_CLOEXEC) == 0 && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
            chdir(folder) == 0) {
            execvp(argv[0], (char *const *)argv);
        }
        ssize_t written = write(report[1], &errno, sizeof errno);
        _exit(written > 0);
    }
    *error = child < 0 ? errno : 0;
    close(report[1]);
    if (child > 0) {
        ssize_t got = read(report[0], error, sizeof *error);
        *error = got == (ssize_t)sizeof *error ? *error : 0;
        waitpid(child, &status, 0);
    }
    close(report[0]);
    if (to) {
        last_line(to, said);
        fclose(to);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

ptrdiff_t host_read_line(char **line, size_t *capacity, FILE *from)
{
    return getline(line, capacity, from);
}

bool host_draws_japanese(void)
{
    return system("exec 2>/dev/null; command -v fc-list >/dev/null && test -z \"$(fc-list :lang=ja family)\"") != 0;
}
#endif
