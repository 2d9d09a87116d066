/* attr_json.h: all attributes of an object as JSON, and JSON as attributes. */
#ifndef COMP_IO_H5_ATTR_JSON_H
#define COMP_IO_H5_ATTR_JSON_H

#include <jansson.h>

#include "io/h5/h5.h"

/* Attributes that are texts, numbers, bools and lists of these; the others are left out. It should be freed via
 * json_decref(). */
comp_status comp__h5_get_attributes(json_t **out, hid_t object);

/* Adds such attributes to an object that has none of these names; other kinds of values are left out. */
comp_status comp__h5_put_attributes(hid_t object, const json_t *attributes);

#endif
