/* commands.c: programs with several commands. */
#include <string.h>

#include "common.h"

static void print_usage(FILE *out, const Commands *c)
{
    say_to(out, "usage: %s %s [options]\n\n%s Commands:\n", c->name, c->standard ? "[COMMAND]" : "COMMAND", c->teaches);
    for (const Command *command = c->command; command->name; command++) {
        say_to(out, "  %-10s %s\n", command->name, command->does);
    }
    say_to(out, "\n%s COMMAND --help lists its options.", c->name);
    if (c->standard) {
        say_to(out, " The default command is %s.", c->standard);
    }
    say_to(out, " Examples:\n%s", c->start);
}

static const Command *find(const Commands *c, const char *name)
{
    for (const Command *command = c->command; command->name; command++) {
        if (strcmp(name, command->name) == 0) {
            return command;
        }
    }
    return NULL;
}

int example_commands(int argc, char **argv, const Commands *c)
{
    const char *name = argc > 1 ? argv[1] : c->standard;
    example_called(c->name);
    example_help_language(argc, argv);
    if (!name) {
        processes_begin();                                              /* of several processes, one tells it */
        processes_wait_to_fail();
        print_usage(stderr, c);
        processes_exit(2);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        processes_begin();
        processes_must_agree(true);
        print_usage(stdout, c);
        processes_end(&(bool){ false });
        return example_end();
    }
    if (c->standard && (argc < 2 || name[0] == '-')) {
        return find(c, c->standard)->run(argc, argv);
    }
    const Command *command = find(c, name);
    if (!command) {
        processes_begin();
        example_usage_error("unknown command '%s' (%s --help lists the commands)", name, c->name);
    }
    return command->run(argc - 1, argv + 1);
}
