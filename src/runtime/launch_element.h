/* Whether a typed buffer holds what a kernel's argument expects. */
#ifndef RT_LAUNCH_ELEMENT_H
#define RT_LAUNCH_ELEMENT_H

#include "runtime/object.h"

/* If not, `why` says what differs: "its elements are ...". An untyped buffer matches all. */
bool rt_element_matches(const rt_argument *argument, const tombac_buffer *buffer, tb_text *why);

#endif
