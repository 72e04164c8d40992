/* SPDX-License-Identifier: MIT */
/*
 * combine.c - all, all_settled, race, any. One block holds a reaction per promise and the list of results. The list
 * borrows values: a promise whose value has a destructor is kept by a reference. A pending promise is not kept: if
 * nobody can settle it, its reaction is cancelled. The block lives until its last reaction, or as long as the result
 * whose value it is.
 */
#include "base/why.h"
#include "promise.h"
#include "then.h"

#include <stdlib.h>

typedef enum combine_kind {
    COMBINE_ALL,
    COMBINE_ALL_SETTLED,
    COMBINE_RACE,
    COMBINE_ANY
} combine_kind;

typedef struct vg_combine vg_combine;

typedef struct vg_element {
    vg_link link; /* first */
    vg_combine *of;
    vigil_promise *promise; /* a reference, once its value is in the list; else NULL */
} vg_element;

struct vg_combine {
    vigil_list list; /* first: the value's pointer is the block's */
    combine_kind kind;
    vigil_promise *result; /* held, while it is pending */
    size_t open;           /* reactions that have not come */
    size_t missing;        /* results that are needed for the list */
    vg_element element[];
};

static void combine_free(void *block)
{
    vg_combine *combine = block;
    for (size_t i = 0; i < combine->list.count; i++)
        vigil_promise_unref(combine->element[i].promise);
    free(combine);
}

static vigil_value *items_of(vg_combine *combine)
{
    return (vigil_value *)(void *)&combine->element[combine->list.count];
}

static void finish_combined(vg_combine *combine, vigil_value value)
{
    vigil_promise *result = combine->result;
    combine->result = NULL;
    vg_promise_resolve(result, value);
    vg_promise_unhold(result);
}

static void finish_with_list(vg_combine *combine, vigil_value value)
{
    value.list = &combine->list;
    value.destroy = combine_free; /* the block is the value's from here on */
    finish_combined(combine, value);
}

/* Is the result what the first promise of this outcome has? */
static bool outcome_decides(const vg_combine *combine, vigil_promise_state state)
{
    return combine->kind == COMBINE_RACE || (combine->kind == COMBINE_ALL && state == VIGIL_REJECTED) ||
           (combine->kind == COMBINE_ANY && state == VIGIL_FULFILLED);
}

static void combine_pass_on(vg_combine *combine, vigil_promise *source)
{
    vigil_promise *result = combine->result;
    combine->result = NULL;
    vg_promise_pass_on(result, source);
    vg_promise_unhold(result);
}

/* No reaction is open, and the list is nobody's value. */
static void all_told(vg_combine *combine)
{
    if (combine->result != NULL)
        vg_promise_orphan(combine->result); /* some were lost: it is pending for ever */
    combine_free(combine);
}

static void element_came(vigil_post *post)
{
    vg_element *element = (vg_element *)(void *)post;
    vg_combine *combine = element->of;
    vigil_promise *source = element->link.source;
    vigil_promise_state state = vg_promise_state(source);
    bool listed = false;
    combine->open--;
    if (combine->result != NULL && (combine->result->flags & VG_FORCED) != 0) {
        vg_promise_unhold(combine->result); /* the loop has ended it */
        combine->result = NULL;
    }
    if (combine->result != NULL && outcome_decides(combine, state)) {
        combine_pass_on(combine, source);
    } else if (combine->result != NULL) {
        vigil_value *item = &items_of(combine)[element - combine->element];
        *item = *vg_promise_value(source);
        if (item->destroy != NULL) {
            item->destroy = NULL;
            element->promise = vigil_promise_ref(source);
        }
        if (--combine->missing == 0) {
            vigil_value value = vigil_value_of_kind(combine->kind == COMBINE_ANY ? VIGIL_AGGREGATE : VIGIL_LIST);
            value.status = combine->kind == COMBINE_ANY ? item->status : 0;
            listed = true;
            finish_with_list(combine, value);
        }
    }
    if (!listed && combine->open == 0) /* else the block is gone, perhaps */
        all_told(combine);
    vg_promise_unhold(source);
}

/* The promise is gone, or the loop is closed. */
static void element_lost(vigil_post *post)
{
    vg_element *element = (vg_element *)(void *)post;
    vg_combine *combine = element->of;
    vigil_promise *source = element->link.source;
    vigil_promise *result = combine->result;
    if (source != NULL) { /* closed: the result goes with it */
        combine->result = NULL;
        if (result != NULL) {
            if ((result->flags & VG_FORCED) == 0)
                vg_promise_resolve(result, vigil_value_error(-ECANCELED));
            vg_promise_unhold(result);
        }
    }
    if (--combine->open == 0)
        all_told(combine);
    if (source != NULL)
        vg_promise_unhold(source);
}

static int check_all_here(vg_realm *realm, vigil_promise *const *promises, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (promises[i] == NULL)
            return vg_why(-EINVAL, "promises holds a NULL");
        if (promises[i]->realm != realm)
            return vg_why(-EXDEV, "one of the promises belongs to another loop");
    }
    return 0;
}

static vg_combine *make_combine(combine_kind kind, size_t count)
{
    const size_t each = sizeof(vg_element) + sizeof(vigil_value);
    if (count > (SIZE_MAX / 2 - sizeof(vg_combine)) / each)
        return NULL;
    vg_combine *combine = malloc(sizeof *combine + count * each);
    if (combine == NULL)
        return NULL;
    combine->list.count = count;
    combine->list.items = items_of(combine);
    combine->kind = kind;
    combine->open = count;
    combine->missing = count;
    return combine;
}

static int combine_promises(combine_kind kind, vigil_loop *loop, vigil_promise *const *promises, size_t count,
                            vigil_promise **out, const void *created)
{
    int error;
    vg_realm *realm = vg_realm_of_owner(loop, &error);
    if (realm == NULL)
        return error;
    if (out == NULL || (promises == NULL && count != 0))
        return vg_why(-EINVAL, "promises or promise is NULL");
    error = check_all_here(realm, promises, count);
    if (error != 0)
        return error;
    vg_combine *combine = make_combine(kind, count);
    vigil_promise *result = combine == NULL ? NULL : vg_promise_new(realm, VG_KIND_DERIVED, 1, 1, created);
    if (result == NULL) {
        free(combine);
        return vg_why(-ENOMEM, "no memory to combine the promises");
    }
    combine->result = result;
    result->flags |= VG_WAITING;
    *out = result;
    for (size_t i = 0; i < count; i++) {
        vg_element *element = &combine->element[i];
        vigil_post_init(&element->link.post, element_came, element_lost);
        element->of = combine;
        element->promise = NULL;
        vg_promise_subscribe(promises[i], &element->link); /* nothing runs in here */
    }
    if (count != 0)
        return 0;
    if (kind == COMBINE_RACE) {
        all_told(combine);
    } else if (kind == COMBINE_ANY) {
        vigil_value value = vigil_value_of_kind(VIGIL_AGGREGATE);
        value.status = -ENOENT;
        finish_with_list(combine, value);
    } else {
        finish_with_list(combine, vigil_value_of_kind(VIGIL_LIST));
    }
    return 0;
}

int vigil_promise_all(vigil_loop *loop, vigil_promise *const *promises, size_t count, vigil_promise **promise)
{
    return combine_promises(COMBINE_ALL, loop, promises, count, promise, __builtin_return_address(0));
}

int vigil_promise_all_settled(vigil_loop *loop, vigil_promise *const *promises, size_t count, vigil_promise **promise)
{
    return combine_promises(COMBINE_ALL_SETTLED, loop, promises, count, promise, __builtin_return_address(0));
}

int vigil_promise_race(vigil_loop *loop, vigil_promise *const *promises, size_t count, vigil_promise **promise)
{
    return combine_promises(COMBINE_RACE, loop, promises, count, promise, __builtin_return_address(0));
}

int vigil_promise_any(vigil_loop *loop, vigil_promise *const *promises, size_t count, vigil_promise **promise)
{
    return combine_promises(COMBINE_ANY, loop, promises, count, promise, __builtin_return_address(0));
}
