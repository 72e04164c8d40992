/* SPDX-License-Identifier: MIT */
/* The head of a request or of an answer; see head.h. */
#include "head.h"

#include <llhttp.h>
#include <string.h>
#include <strings.h>

/* ---- characters -------------------------------------------------------------------------------------------------- */

bool vg_web_is_token(const char *text, size_t length)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        const unsigned char low = c | 0x20;
        if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'z') || (c != 0 && strchr(marks, c) != NULL)))
            return false;
    }
    return length > 0;
}

bool vg_web_is_value(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

bool vigil_http_text_is(vigil_http_text text, const char *word)
{
    return text.at != NULL && word != NULL && strlen(word) == text.length &&
           strncasecmp(text.at, word, text.length) == 0;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

int64_t vg_web_head_end(const char *bytes, size_t length, size_t *looked)
{
    size_t at = *looked;
    while (at < length) {
        /* A line that begins with a blank continues the one before: nobody has agreed on what that means. */
        if (at > 0 && (bytes[at] == ' ' || bytes[at] == '\t'))
            return -1;
        const char *found = memchr(bytes + at, '\n', length - at);
        if (found == NULL)
            break;
        const size_t end = (size_t)(found - bytes);
        if (end == 0 || bytes[end - 1] != '\r')
            return -1;
        /* An empty line: the one before it ended right in front of it. */
        if (end >= 3 && bytes[end - 2] == '\n')
            return (int64_t)end + 1;
        at = end + 1;
        *looked = at;
    }
    return 0;
}

/* ---- what llhttp finds ------------------------------------------------------------------------------------------- */

typedef struct reading {
    vg_web_head *head;
    const char *bytes;
    unsigned most_fields;
    bool too_many;
    bool complete;
} reading;

static void extend(vg_web_span *span, const reading *it, const char *at, size_t length)
{
    if (span->length == 0)
        span->at = (uint32_t)(at - it->bytes);
    span->length += (uint32_t)length;
}

static int on_url(llhttp_t *parser, const char *at, size_t length)
{
    reading *it = parser->data;
    extend(&it->head->target, it, at, length);
    return 0;
}

static int on_field(llhttp_t *parser, const char *at, size_t length)
{
    reading *it = parser->data;
    if (it->head->count == it->most_fields) {
        it->too_many = true;
        return -1;
    }
    extend(&it->head->fields[it->head->count].name, it, at, length);
    return 0;
}

static int on_field_complete(llhttp_t *parser)
{
    reading *it = parser->data;
    it->head->count++;
    return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t length)
{
    reading *it = parser->data;
    extend(&it->head->fields[it->head->count - 1].value, it, at, length);
    return 0;
}

static int on_complete(llhttp_t *parser)
{
    reading *it = parser->data;
    it->complete = true;
    return HPE_PAUSED; /* the body is read elsewhere */
}

static const llhttp_settings_t settings = {.on_url = on_url,
                                           .on_header_field = on_field,
                                           .on_header_field_complete = on_field_complete,
                                           .on_header_value = on_value,
                                           .on_headers_complete = on_complete};

/* ---- the fields that frame a message ------------------------------------------------------------------------------ */

typedef struct framing {
    const char *bytes;
    unsigned hosts, lengths, codings;
    bool close, keep, upgrade, other_coding, other_expect;
} framing;

static bool is(const char *text, size_t length, const char *word, size_t word_length)
{
    return length == word_length && strncasecmp(text, word, length) == 0;
}
#define IS(text, length, word) is(text, length, word, sizeof(word) - 1)

/* The next word of a list ("a, b"), without the blanks around it. *at starts at 0. False: there is none. */
static bool next_word(vigil_http_text list, size_t *at, vigil_http_text *word)
{
    if (*at >= list.length)
        return false;
    const char *comma = memchr(list.at + *at, ',', list.length - *at);
    size_t begin = *at;
    size_t end = comma != NULL ? (size_t)(comma - list.at) : list.length;
    *at = end + 1;
    while (begin < end && (list.at[begin] == ' ' || list.at[begin] == '\t'))
        begin++;
    while (end > begin && (list.at[end - 1] == ' ' || list.at[end - 1] == '\t'))
        end--;
    *word = (vigil_http_text){list.at + begin, end - begin};
    return true;
}

/* 1*DIGIT, below 2^63. */
static bool read_length(const char *text, size_t length, uint64_t *number)
{
    *number = 0;
    if (length == 0 || length > 18)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *number = *number * 10 + (uint64_t)(text[i] - '0');
    }
    return true;
}

static void read_connection(framing *it, const char *text, size_t length)
{
    vigil_http_text word;
    for (size_t at = 0; next_word((vigil_http_text){text, length}, &at, &word);) {
        it->close |= IS(word.at, word.length, "close");
        it->keep |= IS(word.at, word.length, "keep-alive");
        it->upgrade |= IS(word.at, word.length, "upgrade");
    }
}

/* False: the message is refused. */
static bool read_field(framing *it, vg_web_head *head, vg_web_pair *pair)
{
    const char *name = it->bytes + pair->name.at;
    const char *value = it->bytes + pair->value.at;
    while (pair->value.length > 0 && (value[pair->value.length - 1] == ' ' || value[pair->value.length - 1] == '\t'))
        pair->value.length--;
    const size_t length = pair->value.length;
    if (!vg_web_is_token(name, pair->name.length) || name[pair->name.length] != ':' || !vg_web_is_value(value, length))
        return false;
    switch (pair->name.length) {
    case 4:
        it->hosts += IS(name, 4, "host");
        break;
    case 6:
        if (IS(name, 6, "expect")) {
            head->expects_continue = IS(value, length, "100-continue");
            it->other_expect |= !head->expects_continue;
        }
        break;
    case 10:
        if (IS(name, 10, "connection"))
            read_connection(it, value, length);
        break;
    case 14:
        if (IS(name, 14, "content-length")) {
            it->lengths++;
            head->has_length = true;
            if (!read_length(value, length, &head->length))
                return false;
        }
        break;
    case 17:
        if (IS(name, 17, "transfer-encoding")) {
            it->codings++;
            head->chunked = IS(value, length, "chunked");
            it->other_coding |= !head->chunked;
        }
        break;
    default:
        break;
    }
    return true;
}

/* ---- both kinds --------------------------------------------------------------------------------------------------- */

/* 0; a status. */
static int read_head(vg_web_head *head, framing *it, const char *bytes, size_t length, llhttp_type_t type,
                     unsigned most)
{
    llhttp_t parser;
    reading what = {.head = head, .bytes = bytes, .most_fields = most};
    llhttp_init(&parser, type, &settings);
    parser.data = &what;
    const llhttp_errno_t error = llhttp_execute(&parser, bytes, length);
    if (what.too_many)
        return 431;
    if (error == HPE_INVALID_METHOD)
        return 501;
    if (error != HPE_PAUSED || !what.complete)
        return 400;
    head->method = llhttp_method_name((llhttp_method_t)parser.method);
    head->is_head = parser.method == HTTP_HEAD;
    head->is_connect = parser.method == HTTP_CONNECT;
    head->status = parser.status_code;
    it->bytes = bytes;
    for (unsigned i = 0; i < head->count; i++)
        if (!read_field(it, head, &head->fields[i]))
            return 400;
    head->upgrade = it->upgrade;
    head->keep_alive = !it->close && (head->minor == 1 || it->keep);
    return 0;
}

static void clear(vg_web_head *head)
{
    /* Not the fields: their spans are cleared as far as they were used. */
    for (unsigned i = 0; i <= head->count && i < VG_WEB_MOST_FIELDS; i++)
        head->fields[i] = (vg_web_pair){0};
    head->count = 0;
    head->target = (vg_web_span){0};
    head->has_length = head->chunked = head->keep_alive = head->expects_continue = false;
    head->length = 0;
}

/* method SP target SP HTTP/1.x: 0, or a status. */
static int read_request_line(vg_web_head *head, const char *bytes, size_t length)
{
    const char *end = memchr(bytes, '\r', length);
    const size_t line = (size_t)(end - bytes); /* there is one: the head has line ends */
    const char *blank = memchr(bytes, ' ', line);
    if (blank == NULL || !vg_web_is_token(bytes, (size_t)(blank - bytes)))
        return 400;
    const char *target = blank + 1;
    const char *second = memchr(target, ' ', (size_t)(end - target));
    if (second == NULL || second == target)
        return 400;
    for (const char *c = target; c < second; c++)
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
            return 400;
    const char *version = second + 1;
    if (end - version != 8 || memcmp(version, "HTTP/", 5) != 0 || version[5] < '0' || version[5] > '9' ||
        version[6] != '.' || version[7] < '0' || version[7] > '9')
        return 400;
    if (version[5] != '1' || version[7] > '1')
        return 505;
    head->minor = (unsigned)(version[7] - '0');
    head->target = (vg_web_span){0};
    return 0;
}

int vg_web_head_request(vg_web_head *head, const char *bytes, size_t length, unsigned most_fields)
{
    framing it = {0};
    clear(head);
    int status = read_request_line(head, bytes, length);
    if (status == 0)
        status = read_head(head, &it, bytes, length, HTTP_REQUEST, most_fields);
    if (status != 0)
        return status;
    if (it.hosts > 1 || (it.hosts == 0 && head->minor == 1) || it.lengths > 1 || it.codings > 1 ||
        (it.lengths != 0 && it.codings != 0) || (it.codings != 0 && head->minor == 0))
        return 400;
    if (it.other_coding)
        return 501;
    if (head->is_connect && (head->chunked || (head->has_length && head->length != 0)))
        return 400; /* what follows is not the request's */
    if (it.other_expect && head->minor == 1)
        return 417;
    if (head->minor == 0)
        head->expects_continue = false;
    return 0;
}

int vg_web_head_answer(vg_web_head *head, const char *bytes, size_t length)
{
    framing it = {0};
    clear(head);
    if (length < 15 || memcmp(bytes, "HTTP/1.", 7) != 0 || (bytes[7] != '0' && bytes[7] != '1') || bytes[8] != ' ')
        return -EBADMSG;
    head->minor = (unsigned)(bytes[7] - '0');
    if (read_head(head, &it, bytes, length, HTTP_RESPONSE, VG_WEB_MOST_FIELDS) != 0 || head->status < 100 ||
        head->status > 999)
        return -EBADMSG;
    if (it.lengths > 1 || it.codings > 1 || (it.lengths != 0 && it.codings != 0) || it.other_coding)
        return -EBADMSG;
    return 0;
}

vigil_http_text vg_web_head_field(const vg_web_head *head, const char *bytes, const char *name)
{
    const size_t length = strlen(name);
    for (unsigned i = 0; i < head->count; i++) {
        const vg_web_pair *pair = &head->fields[i];
        if (is(bytes + pair->name.at, pair->name.length, name, length))
            return (vigil_http_text){bytes + pair->value.at, pair->value.length};
    }
    return (vigil_http_text){NULL, 0};
}

/* ---- other protocols ---------------------------------------------------------------------------------------------- */

static bool lists(vigil_http_text list, vigil_http_text wanted)
{
    vigil_http_text word;
    for (size_t at = 0; next_word(list, &at, &word);)
        if (is(word.at, word.length, wanted.at, wanted.length))
            return true;
    return false;
}

/* The value of the field, if it is an upgrade. */
static bool is_upgrade(const vg_web_pair *pair, const char *bytes, vigil_http_text *value)
{
    *value = (vigil_http_text){bytes + pair->value.at, pair->value.length};
    return IS(bytes + pair->name.at, pair->name.length, "upgrade");
}

bool vg_web_head_offers(const vg_web_head *head, const char *bytes, const char *protocol)
{
    const vigil_http_text wanted = {protocol, strlen(protocol)};
    vigil_http_text value;
    if (head->minor != 1 || !head->upgrade || wanted.length == 0)
        return false;
    for (unsigned i = 0; i < head->count; i++)
        if (is_upgrade(&head->fields[i], bytes, &value) && lists(value, wanted))
            return true;
    return false;
}

bool vg_web_head_accepts(const vg_web_head *head, const char *bytes, const char *offered)
{
    const vigil_http_text all = {offered, strlen(offered)};
    vigil_http_text value, word;
    unsigned count = 0;
    if (head->minor != 1 || !head->upgrade)
        return false;
    for (unsigned i = 0; i < head->count; i++) {
        if (!is_upgrade(&head->fields[i], bytes, &value))
            continue;
        for (size_t at = 0; next_word(value, &at, &word); count++)
            if (word.length == 0 || !lists(all, word))
                return false;
    }
    return count != 0;
}

bool vg_web_is_protocols(const char *text)
{
    const vigil_http_text list = {text, strlen(text)};
    vigil_http_text word;
    bool any = false;
    for (size_t at = 0; next_word(list, &at, &word); any = true) {
        const char *slash = memchr(word.at, '/', word.length); /* name, or name/version */
        const size_t name = slash != NULL ? (size_t)(slash - word.at) : word.length;
        if (!vg_web_is_token(word.at, name) || (slash != NULL && !vg_web_is_token(slash + 1, word.length - name - 1)))
            return false;
    }
    return any && list.at[list.length - 1] != ',';
}
