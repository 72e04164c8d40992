/* SPDX-License-Identifier: MIT */
/* Foreign text is shown with escapes for what a terminal or a reader would obey. */
#include "support.h"

#include "base/text.h"

#include <string.h>

static void must_become(const char *from, bool lines, const char *wanted)
{
    char to[128];
    char again[128];
    vg_text_copy(to, sizeof to, from, strlen(from), lines);
    if (strcmp(to, wanted) != 0) {
        (void)fprintf(stderr, "\"%s\" instead of \"%s\"\n", to, wanted);
        support_fail("the text is as wanted", __FILE__, __LINE__);
    }
    vg_text_copy(again, sizeof again, to, strlen(to), lines);
    must_equal(strcmp(again, to), 0);
}

static void controls_directions_and_bad_bytes_become_escapes(void **state)
{
    (void)state;
    must_become("plain text, \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", false,
                "plain text, \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    must_become("a\x1b[31mb", false, "a\\x1b[31mb");
    must_become("one\ntwo", false, "one\\x0atwo");
    must_become("one\ntwo", true, "one\ntwo");
    must_become("\x7f\xc2\x9b", true, "\\x7f\\x9b");                     /* DEL, CSI of eight bits */
    must_become("x\xe2\x80\xaey\xe2\x81\xa6", true, "x\\u202ey\\u2066"); /* override, isolate */
    must_become("\xe2\x80\x8b\xef\xbb\xbf\xd8\x9c", false, "\\u200b\\ufeff\\u061c");
    must_become("\xf3\xa0\x81\x81", false, "\\U000e0041"); /* a tag */
    must_become("\xff\xc0\x80\xed\xa0\x80", false, "\\xff\\xc0\\x80\\xed\\xa0\\x80");
    must_become("\xe2\x82", false, "\\xe2\\x82"); /* cut off */
}

static void nothing_is_split_and_nothing_runs_over(void **state)
{
    (void)state;
    const char from[] = "ab\x1b\xe2\x82\xac";
    for (size_t room = 1; room < 16; room++) {
        char to[17];
        memset(to, 'z', sizeof to);
        vg_text_copy(to, room, from, sizeof from - 1, false);
        must(strlen(to) < room);
        must_equal(to[room], 'z');
        const size_t length = strlen(to);
        must(length == 0 || length == 1 || length == 2 || length == 6 || length == 9);
    }
    char to[8];
    vg_text_copy(to, sizeof to, "abc\0def", 7, false); /* ends at the zero */
    must_equal(strcmp(to, "abc"), 0);
    vg_text_copy(NULL, 0, "abc", 3, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(controls_directions_and_bad_bytes_become_escapes),
        test(nothing_is_split_and_nothing_runs_over),
    };
    return run_all(tests);
}
