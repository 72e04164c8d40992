/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <limits.h>

#include <vigil/base.h>

/* The list at the head of vigil/base.h. */
static const int ours[] = {EINVAL, ENOMEM, EAGAIN, EBUSY, ESHUTDOWN, ECANCELED, ETIMEDOUT, EDEADLK, EPERM,
                           ECHILD, ESTALE, ENOENT, EIO,   EALREADY,  EPIPE,     EXDEV,     ENODATA};

static void each_error_of_the_library_has_a_sentence_of_its_own(void **state)
{
    (void)state;
    for (unsigned i = 0; i < count_of(ours); i++) {
        const char *sentence = vigil_strerror(-ours[i]);
        assert_string_not_equal(sentence, strerror(ours[i]));
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(sentence, vigil_strerror(-ours[k]));
    }
}

static void the_sign_does_not_matter(void **state)
{
    (void)state;
    for (int error = 1; error < 140; error++) {
        char negative[200];
        (void)snprintf(negative, sizeof negative, "%s", vigil_strerror(-error)); /* the next call may overwrite it */
        assert_string_equal(negative, vigil_strerror(error));
    }
}

static void other_errors_get_the_systems_text(void **state)
{
    (void)state;
    assert_string_equal(vigil_strerror(-EDOM), strerror(EDOM));
    assert_string_equal(vigil_strerror(-ENOTDIR), strerror(ENOTDIR));
}

static void every_number_has_some_text(void **state)
{
    (void)state;
    static const int odd[] = {0, 1, -1, 4095, -4095, 100000, INT_MAX, INT_MIN, INT_MIN + 1};
    for (unsigned i = 0; i < count_of(odd); i++)
        assert_true(strlen(vigil_strerror(odd[i])) > 0);
    assert_string_not_equal(vigil_strerror(0), vigil_strerror(-EIO));
}

static void a_library_on_top_gives_reasons_of_its_own(void **state)
{
    (void)state;
    char long_text[400], text[] = "the shop is closed";
    assert_int_equal(vigil_why_set(-ESHUTDOWN, text), -ESHUTDOWN);
    text[0] = 'T'; /* it was copied */
    assert_string_equal(vigil_why(), "the shop is closed");
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    assert_int_equal(vigil_why_set(-EINVAL, long_text), -EINVAL);
    assert_int_equal(strlen(vigil_why()), 191);
    assert_int_equal(vigil_why_set(-EINVAL, NULL), -EINVAL);
    assert_string_equal(vigil_why(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_error_of_the_library_has_a_sentence_of_its_own),
        cmocka_unit_test(the_sign_does_not_matter),
        cmocka_unit_test(other_errors_get_the_systems_text),
        cmocka_unit_test(every_number_has_some_text),
        cmocka_unit_test(a_library_on_top_gives_reasons_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
