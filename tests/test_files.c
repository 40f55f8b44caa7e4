/* test_files.c: reading whole files and parts; replacing a file in one step; after a failure the old file is unchanged. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "file.h"
#include "folder.h"
#include "io_faults.h"
#include "suites.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void check_read(const char *name, size_t expected)
{
    void *owner = ag_alloc(1, 1);
    size_t size = 0;
    char *text = file_read(owner, in_folder(name), 1 << 24, &size);
    ck_assert_msg(text != NULL, "%s", ag_error());
    ck_assert_uint_eq(size, expected);
    ck_assert_int_eq(text[size], 0);
    for (size_t i = 0; i < size; i++) ck_assert_int_eq((unsigned char)text[i], i * i % 251);
    ag_free(owner);
}

static void make_file(const char *name, size_t size)
{
    unsigned char *bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(i * i % 251);
    folder_write(name, bytes, size);
    free(bytes);
}

/* The number of times that a file is mapped, in systems that list it. */
static int count_maps(const char *path)
{
    char line[512];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) n += strstr(line, path) != NULL;
    if (maps) fclose(maps);
    return n;
}

START_TEST(files_of_any_size_are_read)
{
    static const size_t sizes[] = { 0, 1, 4095, 4096, 100000, 3000000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        make_file("a", sizes[i]);
        check_read("a", sizes[i]);
        File *map = file_open(in_folder("a"), true);
        ck_assert_msg(map != NULL, "%s", ag_error());
        ck_assert_uint_eq(map->size, sizes[i]);
        for (size_t k = 0; k < map->size; k++) ck_assert_int_eq((unsigned char)map->bytes[k], k * k % 251);
        ag_free(map);
        ck_assert_int_eq(count_maps(in_folder("a")), 0);
    }
}
END_TEST

START_TEST(pipes_are_read)
{
    make_file("a", 200000);
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    char command[256];
    snprintf(command, sizeof command, "cat '%s' > '%s' &", in_folder("a"), in_folder("pipe"));
    ck_assert_int_eq(system(command), 0);
    check_read("pipe", 200000);
}
END_TEST

START_TEST(limits_are_kept)
{
    void *owner = ag_alloc(1, 1);
    size_t size;
    make_file("a", 100);
    ck_assert_ptr_nonnull(file_read(owner, in_folder("a"), 100, &size));
    expect_refused(file_read(owner, in_folder("a"), 99, &size) != NULL, "a: expected at most 99 bytes, found more");
    FILE *endless = popen("yes", "r");
    ck_assert_ptr_nonnull(endless);
    char path[64];
    snprintf(path, sizeof path, "/dev/fd/%d", fileno(endless));
    expect_refused(file_read(owner, path, 10000, &size) != NULL, ": expected at most 10000 bytes");
    pclose(endless);
    ag_free(owner);
}
END_TEST

START_TEST(parts_are_read)
{
    make_file("a", 1000);
    unsigned char out[1000];
    File *f = file_open(in_folder("a"), false);
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(f->size, 1000);
    expect_done(file_read_bytes(f, 990, out, 10));
    ck_assert_int_eq(out[9], 999 * 999 % 251);
    expect_done(file_read_bytes(f, 1000, out, 0));
    expect_refused(file_read_bytes(f, 991, out, 10), "a: expected 10 bytes at offset 991, found the end at 1000");
    expect_refused(file_read_bytes(f, UINT64_MAX, out, 2), "found the end at 1000");
    ck_assert_int_eq(truncate(in_folder("a"), 500), 0);
    expect_refused(file_read_bytes(f, 400, out, 200), "a: became shorter while it was read");
    ag_free(f);
    f = file_of_bytes("memory", "abc", 3);
    expect_done(file_read_bytes(f, 1, out, 2));
    ck_assert(memcmp(out, "bc", 2) == 0);
    expect_refused(file_read_bytes(f, 2, out, 2), "memory: expected 2 bytes at offset 2, found the end at 3");
    ag_free(f);
}
END_TEST

START_TEST(folders_and_missing_files_are_refused)
{
    void *owner = ag_alloc(1, 1);
    size_t size;
    ck_assert_int_eq(mkdir(in_folder("d"), 0700), 0);
    expect_refused(file_read(owner, in_folder("d"), 100, &size) != NULL, "d: cannot be read: Is a directory");
    expect_refused(file_read(owner, in_folder("x"), 100, &size) != NULL, "x: cannot be opened: No such file");
    expect_refused(file_open(in_folder("d"), false) != NULL, "d: expected a regular file");
    expect_refused(file_open(in_folder("x"), false) != NULL, "x: cannot be opened: No such file");
    expect_refused(file_open(in_folder("d"), true) != NULL, "d: expected a regular file");
    expect_refused(file_open(in_folder("x"), true) != NULL, "x: cannot be opened: No such file");
    ag_free(owner);
}
END_TEST

/* A link in a folder of somebody else may lead to a device, which waits for ever or has no end. */
START_TEST(devices_are_refused_at_once)
{
    static const char *const devices[] = { "/dev/zero", "/dev/null", "/dev/random", "/dev/tty", "/dev/kmsg" };
    void *owner = ag_alloc(1, 1);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        size_t size;
        bool terminal_or_log = i > 2;                           /* which this process may not be able to open */
        unlink(in_folder("a"));
        ck_assert_int_eq(symlink(devices[i], in_folder("a")), 0);
        alarm(2);
        bool done = file_read(owner, in_folder("a"), 1 << 28, &size) != NULL;
        alarm(0);
        expect_refused(done, terminal_or_log ? "a: " : "a: expected a file or a pipe, found a device");
    }
    ag_free(owner);
}
END_TEST

/* A FIFO that no program writes or reads: opening it would wait. */
START_TEST(fifos_are_refused_at_once)
{
    ck_assert_int_eq(mkfifo(in_folder("a"), 0600), 0);
    expect_refused(file_open(in_folder("a"), false) != NULL, "a: expected a regular file");
    expect_refused(file_open(in_folder("a"), true) != NULL, "a: expected a regular file");
    expect_refused(file_replace(in_folder("a")) != NULL, "a: expected a regular file to replace");
}
END_TEST

/* A whole file may be a pipe, so its reader waits for a program that writes it, but not forever. */
START_TEST(fifos_that_no_program_writes_are_refused)
{
    void *owner = ag_alloc(1, 1);
    size_t size;
    ck_assert_int_eq(mkfifo(in_folder("a"), 0600), 0);
    expect_refused(file_read(owner, in_folder("a"), 100, &size) != NULL,
                   "a: expected a regular file, or a pipe that a program writes");
    ag_free(owner);
}
END_TEST

/* The writer says nothing for longer than the reader waits for a writer. */
START_TEST(slow_pipes_are_read)
{
    char command[256], path[64];
    make_file("a", 100);
    snprintf(command, sizeof command, "sleep 6; cat '%s'", in_folder("a"));
    FILE *slow = popen(command, "r");
    ck_assert_ptr_nonnull(slow);
    snprintf(path, sizeof path, "/dev/fd/%d", fileno(slow));
    ck_assert_int_eq(symlink(path, in_folder("slow")), 0);
    check_read("slow", 100);
    ck_assert_int_eq(pclose(slow), 0);
}
END_TEST

/* ---- replacing --------------------------------------------------------------------------------------------------- */

static bool replace(const char *path, const char *text)
{
    FileWriter *w = file_replace(path);
    if (!w) return false;
    file_write(w, text, strlen(text));
    return file_commit(w);
}

START_TEST(files_are_made_and_replaced)
{
    struct stat status;
    mode_t former = umask(022);
    expect_done(replace(in_folder("a"), "one"));
    umask(former);
    folder_expect("a", "one");
    ck_assert_int_eq(stat(in_folder("a"), &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0644);              /* as that of any new file */
    ck_assert_int_eq(chmod(in_folder("a"), 0640), 0);
    expect_done(replace(in_folder("a"), "the second"));
    folder_expect("a", "the second");
    ck_assert_int_eq(stat(in_folder("a"), &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0640);              /* the permissions stay */
    expect_done(replace(in_folder("a"), ""));
    folder_expect("a", "");
    ck_assert_int_eq(folder_count(), 1);
}
END_TEST

START_TEST(names_without_a_folder_are_in_the_current_folder)
{
    ck_assert_int_eq(chdir(in_folder("")), 0);
    expect_done(replace("a", "here"));
    folder_expect("a", "here");
}
END_TEST

START_TEST(symbolic_links_stay)
{
    expect_done(replace(in_folder("a"), "one"));
    ck_assert_int_eq(symlink("a", in_folder("link")), 0);
    expect_done(replace(in_folder("link"), "two"));
    folder_expect("a", "two");
    struct stat status;
    ck_assert_int_eq(lstat(in_folder("link"), &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
    FileWriter *w = file_replace(in_folder("link"));            /* locks the file, whatever its name */
    expect_refused(replace(in_folder("a"), "three"), "a: another program is writing this file");
    ag_free(w);
}
END_TEST

START_TEST(abandoning_leaves_the_old_file)
{
    expect_done(replace(in_folder("a"), "one"));
    FileWriter *w = file_replace(in_folder("a"));
    file_write(w, "two", 3);
    ag_free(w);
    folder_expect("a", "one");
    ck_assert_int_eq(folder_count(), 1);
}
END_TEST

/* What a program that is killed while it writes that file leaves: the name of the temporary file. */
static const char *leave(const char *target, char name[NAME_MAX + 1])
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        FileWriter *w = file_replace(in_folder(target));
        if (!w) _exit(1);
        file_write(w, "a leftover", 10);
        _exit(0);
    }
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
    DIR *folder = opendir(in_folder(""));
    const struct dirent *entry;
    name[0] = '\0';
    while ((entry = readdir(folder)) != NULL) {
        size_t n = strlen(entry->d_name);
        size_t same = strlen(target) < 100 ? strlen(target) : 100;
        if (n > 20 && strcmp(entry->d_name + n - 4, ".tmp") == 0 && strspn(entry->d_name + n - 20, "0123456789abcdef") == 16 &&
            strncmp(entry->d_name, target, same) == 0) {
            strcpy(name, entry->d_name);
        }
    }
    closedir(folder);
    ck_assert_int_gt(strlen(name), 0);
    return in_folder(name);
}

/* What a killed program has left of the same target is removed. */
START_TEST(leftovers_are_removed)
{
    char name[NAME_MAX + 1];
    leave("a", name);
    ck_assert_int_eq(folder_count(), 1);
    expect_done(replace(in_folder("b"), "of another name"));
    ck_assert_int_eq(folder_count(), 2);
    expect_done(replace(in_folder("a"), "new"));
    folder_expect("a", "new");
    ck_assert_int_eq(folder_count(), 2);
}
END_TEST

/* A link of that name is not followed; a folder and a FIFO stay. */
START_TEST(leftovers_lead_nowhere)
{
    char name[NAME_MAX + 1];
    for (int i = 0; i < 4; i++) {
        const char *left = leave("a", name);
        ck_assert_int_eq(remove(left), 0);
        folder_write("precious", "precious", 8);
        ck_assert_int_eq(i == 0 ? link(in_folder("precious"), left) : i == 1 ? symlink("precious", left) :
                         i == 2 ? mkdir(left, 0700) : mkfifo(left, 0600), 0);
        expect_done(replace(in_folder("a"), "new"));
        folder_expect("a", "new");
        folder_expect("precious", "precious");
        ck_assert_int_eq(folder_count(), i == 0 ? 2 : 3);
        remove(in_folder(name));
        remove(in_folder("a"));
    }
}
END_TEST

/* Files of the user stay, also those with names like the temporary ones: dates, hashes, and the temporary files of another
 * name. */
START_TEST(files_of_the_user_are_no_leftovers)
{
    static const char *const others[] = { "a.tmp", "a.part", "a.20240101.tmp", "a.0123abcd.tmp", "a.2024010112000000.tmp",
                                          "a.0123456789abcdef.tmp", "a.0000000000000000.tmp", "a.0123456789abcde.tmp",
                                          "a.0123456789ABCDEF.tmp", "a.0123456789abcdef.tmp2" };
    enum { OTHERS = sizeof others / sizeof *others };
    char name[NAME_MAX + 1], of_a[NAME_MAX + 1];
    for (int i = 0; i < OTHERS; i++) folder_write(others[i], "other", 5);
    leave("b", name);
    strcpy(of_a, name);
    of_a[0] = 'a';                                          /* the digits of another name */
    ck_assert_int_eq(rename(in_folder(name), in_folder(of_a)), 0);
    expect_done(replace(in_folder("a"), "new"));
    for (int i = 0; i < OTHERS; i++) folder_expect(others[i], "other");
    folder_expect(of_a, "a leftover");
    ck_assert_int_eq(folder_count(), OTHERS + 2);
}
END_TEST

/* A name can be as long as the file system allows, and consist of characters of several bytes. */
START_TEST(long_names_are_written)
{
    for (int n = 225; n <= 255; n++) {
        char name[300] = "", left[NAME_MAX + 1], other[300];
        for (int i = 0; i < n; i += 3) strcat(name, i + 3 <= n ? "\xE3\x81\x82" : i + 2 <= n ? "\xC3\xA9" : "a");
        strcpy(other, name);
        other[0] = '\xE4';                                  /* another one with the same length */
        ck_assert_int_eq(strlen(name), n);
        leave(name, left);
        ck_assert_int_le(strlen(left), 255);
        ck_assert_int_eq(folder_count(), 1);
        expect_done(replace(in_folder(other), "other"));
        ck_assert_int_eq(folder_count(), 2);
        expect_done(replace(in_folder(name), "new"));
        folder_expect(name, "new");
        ck_assert_int_eq(folder_count(), 2);
        remove(in_folder(name));
        remove(in_folder(other));
    }
}
END_TEST

/* A link whose file is not there yet stays one, through several links and folders, and the file is made. */
START_TEST(links_that_dangle_stay)
{
    ck_assert_int_eq(mkdir(in_folder("sub"), 0700), 0);
    ck_assert_int_eq(symlink("sub/second", in_folder("first")), 0);
    ck_assert_int_eq(symlink("../far", in_folder("sub/second")), 0);
    for (int i = 0; i < 2; i++) {
        expect_done(replace(in_folder("first"), i ? "again" : "new"));
        folder_expect("far", i ? "again" : "new");
        folder_expect("first", i ? "again" : "new");
        ck_assert_int_eq(readlink(in_folder("first"), (char[100]){ 0 }, 100), 10);
        ck_assert_int_eq(readlink(in_folder("sub/second"), (char[100]){ 0 }, 100), 6);
        ck_assert_int_eq(folder_count(), 3);
    }
    ck_assert_int_eq(symlink("absent/file", in_folder("nowhere")), 0);
    expect_refused(replace(in_folder("nowhere"), "new"), "nowhere: cannot be written: its folder");
}
END_TEST

/* Links that lead to themselves, at once or through others, and 41 links in a row, which no system follows, stay as well: the
 * file is refused, whichever function of this library writes it. 32 links are followed by every system. */
START_TEST(links_without_an_end_stay)
{
    char from[24], to[24];
    ck_assert_int_eq(symlink("circle", in_folder("circle")), 0);
    ck_assert_int_eq(symlink("there", in_folder("back")), 0);
    ck_assert_int_eq(symlink("back", in_folder("there")), 0);
    for (int i = 0; i <= 40; i++) {
        snprintf(from, sizeof from, "link%d", i);
        snprintf(to, sizeof to, "link%d", i + 1);
        ck_assert_int_eq(symlink(to, in_folder(from)), 0);
    }
    static const char *const endless[] = { "circle", "back", "link0" };
    for (int i = 0; i < 3; i++) {
        char why[80];
        snprintf(why, sizeof why, "%s: cannot be written: %s", endless[i], strerror(ELOOP));
        expect_refused(replace(in_folder(endless[i]), "new"), why);
        expect_refused(file_replace_as(in_folder(endless[i]), NULL, in_folder("shown")) != NULL, why);
        ck_assert_int_gt(readlink(in_folder(endless[i]), (char[100]){ 0 }, 100), 0);
        ck_assert_int_eq(folder_count(), 44);
    }
    expect_done(replace(in_folder("link9"), "new"));
    folder_expect("link41", "new");
    ck_assert_int_eq(folder_count(), 45);
}
END_TEST

/* A file that others read while it is written stays when it cannot be finished: it may be all that is left of a run. It goes
 * where a link leads, there or not there yet. */
START_TEST(a_shown_file_stays)
{
    static const char *const linked[] = { NULL, "target" };
    for (int i = 0; i < 2; i++) {
        if (linked[i]) ck_assert_int_eq(symlink(linked[i], in_folder("a")), 0);
        for (int k = 0; k < 2; k++) {
            FileWriter *w = file_replace_as(in_folder("a"), NULL, in_folder("a.part"));
            ck_assert_ptr_nonnull(w);
            file_write(w, k ? "two" : "one", 3);
            folder_expect("a.part", k ? "two" : "one");
            expect_done(file_commit(w));
            folder_expect("a", k ? "two" : "one");
            ck_assert_int_eq(folder_count(), linked[i] ? 2 : 1);
            if (linked[i]) folder_expect(linked[i], k ? "two" : "one");
        }
        FileWriter *w = file_replace_as(in_folder("a"), NULL, in_folder("a.part"));
        file_write(w, "three", 5);
        remove(in_folder("a"));
        ck_assert_int_eq(mkdir(in_folder("a"), 0700), 0);
        expect_refused(file_commit(w), i ? "a: expected a regular file" : "a: cannot be replaced");
        folder_expect("a.part", "three");
        ck_assert_int_eq(rmdir(in_folder("a")), 0);
        w = file_replace_as(in_folder("a"), NULL, in_folder("a.part"));
        ag_free(w);
        folder_expect("a.part", "");
        remove(in_folder("a.part"));
    }
}
END_TEST

/* A program that is killed while it writes leaves its temporary file, which has no lock then. */
START_TEST(leftovers_of_a_kill_are_removed)
{
    int made[2];
    char byte;
    ck_assert_int_eq(pipe(made), 0);
    expect_done(replace(in_folder("a"), "one"));
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        bool good = file_replace(in_folder("a")) && write(made[1], "", 1) == 1;
        while (good) pause();
        _exit(1);
    }
    ck_assert_int_eq(read(made[0], &byte, 1), 1);
    expect_refused(replace(in_folder("a"), "two"), "a: another program is writing this file");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert_int_eq(folder_count(), 2);
    expect_done(replace(in_folder("a"), "two"));
    folder_expect("a", "two");
    ck_assert_int_eq(folder_count(), 1);
    close(made[0]);
    close(made[1]);
}
END_TEST

/* The file is private until it has the permissions of the one that it replaces, or of the file `like`. */
START_TEST(permissions_are_kept)
{
    struct stat status;
    folder_write("private", "x", 1);
    ck_assert_int_eq(chmod(in_folder("private"), 0600), 0);
    folder_write("a", "x", 1);
    ck_assert_int_eq(chmod(in_folder("a"), 0644), 0);
    FileWriter *w = file_replace_as(in_folder("a"), in_folder("private"), in_folder("shown"));
    ck_assert_msg(w != NULL, "%s", ag_error());
    ck_assert_int_eq(stat(in_folder("shown"), &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    expect_done(file_commit(w));
    ck_assert_int_eq(stat(in_folder("a"), &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    ck_assert_int_eq(chmod(in_folder("private"), 0640), 0);
    w = file_replace_as(in_folder("new"), in_folder("private"), NULL);
    expect_done(file_commit(w));
    ck_assert_int_eq(stat(in_folder("new"), &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0640);
    expect_refused(file_replace_as(in_folder("new"), in_folder("none"), NULL) != NULL, "none: cannot be read: No such file");
}
END_TEST

/* A file that others read while it is written. What had the name is replaced; where a link leads, nothing changes. */
START_TEST(a_file_can_be_shown_while_it_is_written)
{
    static const char *const before[] = { "none", "a file", "a symbolic link", "a hard link", "a link to nothing" };
    for (int i = 0; i < 5; i++) {
        folder_write("precious", "precious", 8);
        unlink(in_folder("shown"));
        if (i == 1) folder_write("shown", "old rows", 8);
        if (i == 2) ck_assert_int_eq(symlink("precious", in_folder("shown")), 0);
        if (i == 3) ck_assert_int_eq(link(in_folder("precious"), in_folder("shown")), 0);
        if (i == 4) ck_assert_int_eq(symlink("nothing", in_folder("shown")), 0);
        folder_write("a", "old", 3);
        FileWriter *w = file_replace_as(in_folder("a"), NULL, in_folder("shown"));
        ck_assert_msg(w != NULL, "%s: %s", before[i], ag_error());
        FILE *stream = file_stream(w);
        ck_assert_ptr_nonnull(stream);
        fputs("rows", stream);
        fflush(stream);
        folder_expect("shown", "rows");
        folder_expect("a", "old");
        folder_expect("precious", "precious");
        ck_assert_int_eq(folder_count(), 3);
        fputs(", more", stream);
        expect_done(file_commit(w));
        folder_expect("a", "rows, more");
        folder_expect("precious", "precious");
        ck_assert_int_eq(folder_count(), 2);
    }
}
END_TEST

START_TEST(files_that_cannot_be_replaced_are_refused)
{
    expect_refused(replace(in_folder("none/a"), "x"), "none/a: cannot be written: its folder: No such file");
    ck_assert_int_eq(mkdir(in_folder("d"), 0700), 0);
    expect_refused(replace(in_folder("d"), "x"), "d: expected a regular file to replace");
    expect_refused(replace("/dev/null", "x"), "/dev/null: expected a regular file to replace");
    if (geteuid() != 0) {                                       /* root can write anywhere */
        ck_assert_int_eq(chmod(in_folder("d"), 0500), 0);
        expect_refused(replace(in_folder("d/a"), "x"), "a: cannot be written: Permission denied");
    }
}
END_TEST

START_TEST(one_program_writes_at_a_time)
{
    expect_done(replace(in_folder("a"), "one"));
    FileWriter *w = file_replace(in_folder("a"));
    file_write(w, "two", 3);
    expect_refused(replace(in_folder("a"), "three"), "a: another program is writing this file");
    expect_done(file_finish(w));
    expect_refused(replace(in_folder("a"), "three"), "a: another program is writing this file");
    expect_done(file_commit(w));
    folder_expect("a", "two");
    expect_done(replace(in_folder("a"), "three"));
    folder_expect("a", "three");
    ck_assert_int_eq(folder_count(), 1);
}
END_TEST

/* A limit on file sizes acts like a full disk: one write is incomplete, and the next one fails. */
START_TEST(a_full_disk_leaves_the_old_file)
{
    expect_done(replace(in_folder("a"), "one"));
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = { 5000, 5000 };
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    static char large[10000];
    FileWriter *w = file_replace(in_folder("a"));
    file_write(w, large, sizeof large);
    file_write(w, large, sizeof large);
    expect_refused(file_commit(w), "a: cannot be written: File too large");
    folder_expect("a", "one");
    ck_assert_int_eq(folder_count(), 1);
}
END_TEST

/* The system may read or write less than it was asked for. */
START_TEST(parts_are_continued)
{
    if (!io_faults_work()) return;
    io_faults_most(3);
    expect_done(replace(in_folder("a"), "one, two, three"));
    size_t size;
    char *text = file_read(NULL, in_folder("a"), 100, &size);
    ck_assert_uint_eq(size, 15);
    ck_assert_mem_eq(text, "one, two, three", 15);
    ag_free(text);
    io_faults_most(0);
    expect_refused(replace(in_folder("a"), "two"), "a: cannot be written: Input/output error");
    io_faults_most(-1);
    folder_expect("a", "one, two, three");
}
END_TEST

static void replace_large(void)
{
    static char large[100000];
    FileWriter *w = file_replace(in_folder("a"));
    ck_assert_ptr_nonnull(w);
    for (size_t i = 0; i < 20; i++) file_write(w, large, sizeof large);
    file_commit(w);
}

/* After a kill at any moment, the file is the old one or the new one. */
START_TEST(kills_leave_the_old_file_or_the_new_one)
{
    int sizes[2] = { 0 };
    for (int i = 0; i < 60; i++) {
        expect_done(replace(in_folder("a"), "old"));
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            replace_large();
            _exit(0);
        }
        usleep((useconds_t)(i * 50));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        struct stat status;
        ck_assert_int_eq(stat(in_folder("a"), &status), 0);
        ck_assert(status.st_size == 3 || status.st_size == 2000000);
        sizes[status.st_size == 3]++;
    }
    ck_assert_int_gt(sizes[1], 0);
}
END_TEST

/* ---- two files of which the second describes the first --------------------------------------------------------------- */

static FileWriter *written(const char *name, const char *text)
{
    FileWriter *w = file_replace(in_folder(name));
    ck_assert_ptr_nonnull(w);
    file_write(w, text, strlen(text));
    return w;
}

static bool replace_both(const char *text)
{
    FileWriter *first = written("a", text);
    return file_commit_both(first, written("b", text));
}

static void expect_both(const char *text)
{
    folder_expect("a", text);
    folder_expect("b", text);
    ck_assert_int_eq(folder_count(), 2);
}

/* The program is killed before each call: both files are old, both are new, or there is no second one. */
START_TEST(a_kill_leaves_two_files_that_belong_together)
{
    if (!io_faults_work()) return;
    expect_done(replace_both("old"));
    io_faults_at(-1, false);
    expect_done(replace_both("old"));
    int calls = io_faults_calls(), missing = 0;
    for (int n = 0; n < calls; n++) {
        expect_done(replace_both("old"));
        pid_t child = fork();
        if (child == 0) {
            io_faults_kill_at(n);
            replace_both("new");
            _exit(0);
        }
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFSIGNALED(status));
        if (file_exists(in_folder("b"))) {
            char text[4] = "";
            FILE *f = fopen(in_folder("a"), "rb");
            ck_assert_uint_eq(fread(text, 1, 3, f), 3);
            fclose(f);
            folder_expect("b", text);
        } else missing++;
        expect_done(replace_both("new"));
        expect_both("new");
    }
    ck_assert_int_gt(missing, 0);
}
END_TEST

/* Each rename fails: the first file is only replaced when the second one cannot be taken for its own. */
START_TEST(two_files_of_which_one_cannot_be_replaced)
{
    if (!io_faults_work()) return;
    static const int renames = 3;                       /* the second one is moved away; both are put in place */
    for (int n = 0, seen = 0; seen < renames; n++) {
        expect_done(replace_both("old"));
        FileWriter *first = written("a", "new"), *second = written("b", "new");
        io_faults_at(n, false);
        bool done = file_commit_both(first, second), hit = io_faults_hit();
        bool rename = hit && strcmp(io_faults_call(n), "rename") == 0;
        io_faults_at(-1, false);
        ck_assert(hit);
        if (!rename) continue;
        ck_assert_int_eq(io_faults_open(), 0);
        expect_refused(done, ": cannot be replaced: ");
        if (++seen < renames) expect_both("old");
        else ck_assert(!file_exists(in_folder("b")));
    }
    ck_assert_int_eq(folder_count(), 1);
    folder_expect("a", "new");
}
END_TEST

/* ---- every call fails once --------------------------------------------------------------------------------------- */

static bool use_files(void)
{
    void *owner = ag_alloc(1, 1);
    size_t size;
    char out[4] = "";
    File *f = file_open(in_folder("a"), false);
    File *map = f ? file_open(in_folder("a"), true) : NULL;
    char *text = map && file_read_bytes(f, 0, out, 3) ? file_read(owner, in_folder("a"), 100, &size) : NULL;
    bool done = text && strcmp(out, text) == 0;
    ag_free(map);
    ag_free(f);
    ag_free(owner);
    return done && replace(in_folder("a"), "new");
}

enum { MOST_CALLS = 64 };
typedef struct { const char *function[MOST_CALLS]; int n; } Calls;

/* The calls of use_files without a failure. */
static Calls calls_without_failure(void)
{
    Calls c = { .n = 0 };
    expect_done(replace(in_folder("a"), "old"));
    io_faults_at(-1, false);
    expect_done(use_files());
    for (; c.n < io_faults_calls() && c.n < MOST_CALLS; c.n++) c.function[c.n] = io_faults_call(c.n);
    ck_assert_int_lt(c.n, MOST_CALLS);
    return c;
}

/* Whether nothing is lost if this call fails: a close, except that before the rename, which may report a failed write. */
static bool is_harmless(const Calls *c, int i)
{
    return strcmp(c->function[i], "close") == 0 && (i + 1 == c->n || strcmp(c->function[i + 1], "rename") != 0);
}

/* A failure leaves the old file, except a failure of the last step, which syncs the folder. */
START_TEST(each_failing_call_is_reported)
{
    if (!io_faults_work()) return;
    Calls calls = calls_without_failure();
    for (int n = 0; n <= calls.n; n++) {
        expect_done(replace(in_folder("a"), "old"));
        int open = io_faults_open();
        bool harmless = true;
        for (int i = n; i < (_i ? calls.n : n + 1) && i < calls.n; i++) harmless = harmless && is_harmless(&calls, i);
        ag_set_error("none");
        io_faults_at(n, _i);
        bool done = use_files(), hit = io_faults_hit();
        io_faults_at(-1, false);
        ck_assert_int_eq(hit, n < calls.n);
        ck_assert_int_eq(io_faults_open(), open);
        ck_assert_int_eq(folder_count(), 1);
        ck_assert_msg(done == harmless, "call %d, %s, failed: the function returned %d", n, hit ? calls.function[n] : "none",
                      done);
        if (!done) expect_refused(done, "/a: ");
        bool replaced = done || strstr(ag_error(), "a: was replaced, but may not be on the disk yet: ");
        folder_expect("a", replaced ? "new" : "old");
    }
}
END_TEST

/* A signal may interrupt each call: once at each place that makes it, and three times in a row. On FUSE and NFS that holds for
 * all calls on files. */
START_TEST(interrupted_calls_are_repeated)
{
    if (!io_faults_work()) return;
    Calls calls = calls_without_failure();
    for (int n = 0; n < calls.n; n++) {
        const char *f = calls.function[n];
        if (strcmp(f, "mmap") == 0 || strcmp(f, "dup") == 0) continue;              /* which no signal interrupts */
        expect_done(replace(in_folder("a"), "old"));
        io_faults_error(EINTR);
        io_faults_at(n, false);
        bool done = use_files(), hit = io_faults_hit();
        io_faults_at(-1, false);
        io_faults_error(0);
        ck_assert(hit);
        ck_assert_msg(done, "%s was interrupted: %s", f, ag_error());
        folder_expect("a", "new");
        ck_assert_int_eq(folder_count(), 1);
    }
    static const char *const functions[] = { "open", "read", "pread", "write", "pwrite", "fsync", "fsync of a folder", "rename",
                                             "close", "stat", "fstat", "flock", "poll" };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        expect_done(replace(in_folder("a"), "old"));
        io_faults_refuse(functions[i], EINTR, 3, false);
        bool done = use_files(), hit = io_faults_hit();
        io_faults_refuse(NULL, 0, 0, false);
        ck_assert_msg(hit || strcmp(functions[i], "pwrite") == 0, "%s was not called", functions[i]);
        ck_assert_msg(done, "%s was interrupted: %s", functions[i], ag_error());
        folder_expect("a", "new");
    }
    FileWriter *w = file_replace(in_folder("a"));
    file_write(w, "0123", 4);
    io_faults_refuse("pwrite", EINTR, 3, false);
    file_write_bytes(w, 1, "xy", 2);
    ck_assert(io_faults_hit());
    io_faults_refuse("unlink", EINTR, 3, false);
    ag_free(w);
    ck_assert(io_faults_hit());
    io_faults_refuse(NULL, 0, 0, false);
    ck_assert_int_eq(folder_count(), 1);
}
END_TEST

/* A rename that has been done before a signal interrupted it finds nothing to rename the second time. */
START_TEST(an_interrupted_rename_may_be_done)
{
    if (!io_faults_work()) return;
    io_faults_refuse("rename", EINTR, 1, true);
    expect_done(replace(in_folder("a"), "new"));
    ck_assert(io_faults_hit());
    io_faults_refuse(NULL, 0, 0, false);
    folder_expect("a", "new");
    ck_assert_int_eq(folder_count(), 1);
}
END_TEST

/* ---- systems that lack a call ------------------------------------------------------------------------------------ */

/* A system or a file system that does not have one of these calls says so in several ways. Saving works without it: a new
 * file, one that exists, and one that a link leads to. */
START_TEST(files_are_written_without_some_calls)
{
    static const char *const functions[] = { "flock", "fchmod", "readlink", "fsync of a folder" };
    static const int errors[] = { ENOLCK, ENOSYS, EINVAL, ENOTSUP, EOPNOTSUPP };
    if (!io_faults_work()) return;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        for (size_t k = 0; k < sizeof errors / sizeof *errors; k++) {
            folder_write("old", "old", 3);
            unlink(in_folder("new"));
            unlink(in_folder("link"));
            ck_assert_int_eq(symlink("old", in_folder("link")), 0);
            io_faults_refuse(functions[i], errors[k], -1, false);
            bool done = replace(in_folder("new"), "1") && replace(in_folder("old"), "2") && replace(in_folder("link"), "3");
            bool hit = io_faults_hit();
            io_faults_refuse(NULL, 0, 0, false);
            ck_assert_msg(hit, "%s was not called", functions[i]);
            ck_assert_msg(done, "without %s (%s): %s", functions[i], strerror(errors[k]), ag_error());
            folder_expect("new", "1");
            folder_expect("link", "3");
            ck_assert_int_eq(folder_count(), 3);
        }
    }
}
END_TEST

/* ---- power failures ---------------------------------------------------------------------------------------------- */

/* The file is on the disk before it gets its name, and the name before file_commit returns. So a power failure leaves the old
 * file or the new one. */
START_TEST(a_file_is_replaced_in_this_order)
{
    static const char *const expected[] = { "open", "open", "dup", "write", "fsync", "close", "rename", "fsync", "close",
                                            "close" };
    enum { N = sizeof expected / sizeof *expected };
    if (!io_faults_work()) return;
    io_faults_at(-1, false);
    expect_done(replace(in_folder("a"), "new"));
    for (int i = 0; i < N && i < io_faults_calls(); i++) ck_assert_str_eq(io_faults_call(i), expected[i]);
    ck_assert_int_eq(io_faults_calls(), N);
}
END_TEST

/* Some file systems cannot sync a folder, and say so with EINVAL. For a file this is an error. */
START_TEST(a_folder_that_cannot_be_synced_is_no_failure)
{
    if (!io_faults_work()) return;
    enum { FILE_SYNC = 4, FOLDER_SYNC = 7 };                            /* see the test above */
    io_faults_error(EINVAL);
    io_faults_at(FOLDER_SYNC, false);
    expect_done(replace(in_folder("a"), "new"));
    ck_assert(io_faults_hit());
    io_faults_at(FILE_SYNC, false);
    expect_refused(replace(in_folder("a"), "newer"), "a: cannot be written: Invalid argument");
    io_faults_at(-1, false);
    io_faults_error(0);
    folder_expect("a", "new");
}
END_TEST

static FileWriter *another;

/* Refused until the file has been renamed. */
static void begin_another(void)
{
    if (!another) another = file_replace(in_folder("a"));
}

/* After the rename another program may begin to write the file. Its temporary file stays. */
START_TEST(the_next_writers_temporary_file_stays)
{
    if (!io_faults_work()) return;
    io_faults_inside_fsync(begin_another);
    expect_done(replace(in_folder("a"), "new"));
    io_faults_inside_fsync(NULL);
    ck_assert_ptr_nonnull(another);
    folder_expect("a", "new");
    ck_assert_int_eq(folder_count(), 2);
    expect_done(file_commit(another));
}
END_TEST

/* ---- every allocation fails once --------------------------------------------------------------------------------- */

static void try_use_files(void)
{
    replace(in_folder("a"), "new");
    use_files();
}

START_TEST(failing_allocations_leak_nothing)
{
    int64_t requests = faults_everywhere(try_use_files, _i);
    if (faults_work()) ck_assert_int_gt(requests, 8);
    ck_assert_int_eq(folder_count(), 1);
}
END_TEST

Suite *files_suite(void)
{
    Suite *suite = suite_create("files");
    TCase *t = tcase_create("files");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, files_of_any_size_are_read);
    tcase_add_test(t, pipes_are_read);
    tcase_add_test(t, limits_are_kept);
    tcase_add_test(t, parts_are_read);
    tcase_add_test(t, folders_and_missing_files_are_refused);
    tcase_add_test(t, devices_are_refused_at_once);
    tcase_add_test(t, fifos_are_refused_at_once);
    tcase_add_test(t, fifos_that_no_program_writes_are_refused);
    tcase_add_test(t, slow_pipes_are_read);
    tcase_add_test(t, files_are_made_and_replaced);
    tcase_add_test(t, names_without_a_folder_are_in_the_current_folder);
    tcase_add_test(t, symbolic_links_stay);
    tcase_add_test(t, abandoning_leaves_the_old_file);
    tcase_add_test(t, leftovers_are_removed);
    tcase_add_test(t, leftovers_lead_nowhere);
    tcase_add_test(t, files_of_the_user_are_no_leftovers);
    tcase_add_test(t, long_names_are_written);
    tcase_add_test(t, links_that_dangle_stay);
    tcase_add_test(t, links_without_an_end_stay);
    tcase_add_test(t, a_shown_file_stays);
    tcase_add_test(t, leftovers_of_a_kill_are_removed);
    tcase_add_test(t, permissions_are_kept);
    tcase_add_test(t, a_file_can_be_shown_while_it_is_written);
    tcase_add_test(t, files_that_cannot_be_replaced_are_refused);
    tcase_add_test(t, one_program_writes_at_a_time);
    tcase_add_test(t, a_full_disk_leaves_the_old_file);
    tcase_add_test(t, parts_are_continued);
    tcase_add_test(t, kills_leave_the_old_file_or_the_new_one);
    tcase_add_test(t, a_kill_leaves_two_files_that_belong_together);
    tcase_add_test(t, two_files_of_which_one_cannot_be_replaced);
    tcase_add_loop_test(t, each_failing_call_is_reported, 0, 2);
    tcase_add_test(t, interrupted_calls_are_repeated);
    tcase_add_test(t, an_interrupted_rename_may_be_done);
    tcase_add_test(t, files_are_written_without_some_calls);
    tcase_add_test(t, a_file_is_replaced_in_this_order);
    tcase_add_test(t, a_folder_that_cannot_be_synced_is_no_failure);
    tcase_add_test(t, the_next_writers_temporary_file_stays);
    tcase_add_loop_test(t, failing_allocations_leak_nothing, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
