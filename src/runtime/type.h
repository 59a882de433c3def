/* Names and sizes of scalar types. */
#ifndef RT_TYPE_H
#define RT_TYPE_H

#include "tombac/tombac.h"

/* "" is TOMBAC_TYPE_OTHER; false for an unknown name. */
bool rt_type_from_name(const char *name, tombac_type *type);

#endif
