/* pack.h: numbers as short text: quantised by the caller, deflated (zlib), base64. The page unpacks it. */
#ifndef COMP_REPORT_PACK_H
#define COMP_REPORT_PACK_H

#include <stddef.h>

#include "comp/status.h"

/* The text, NUL-terminated. It should be freed via comp__free(). */
comp_status comp__pack(char **out, const void *data, size_t size);

#endif
