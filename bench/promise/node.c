/* SPDX-License-Identifier: MIT */
/* Node measures itself: this program becomes it. */
#include "../peer/peer.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    char *words[16] = {NODE_EXECUTABLE, NODE_SCRIPT};
    bench_must(argc + 2 < 16, "a few words");
    for (int i = 1; i < argc; i++)
        words[i + 1] = argv[i];
    execv(words[0], words);
    bench_trouble("node could not be started");
}
