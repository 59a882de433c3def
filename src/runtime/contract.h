/* Launch contracts: relations that a kernel requires of its arguments, [[tombac::requires("len(a) ==
 * len(out)")]].
 *
 *     relation    comparisons of expressions, joined by && and || and grouped by ( )
 *     comparison  == != < <= > >=
 *     expression  + - * / % over numbers and
 *         len(a)      elements from the start of the binding of argument `a` to the end of its buffer
 *         bytes(a)    the same in bytes
 *         n           the value of a scalar constant argument, which must be bound by bytes
 *         p.n.m       a member of a struct constant argument
 *         grid.x      threads of the grid in x (y, z); threadgroup.x likewise: threads of a threadgroup
 *
 * Integer arithmetic is of 64 bits; what overflows it, and division by zero, violate the contract. With a half or
 * float argument or a number like 1.5f it is of doubles; a NaN compares as in C. A relation about
 * an argument that a function constant removed does not count. */
#ifndef RT_CONTRACT_H
#define RT_CONTRACT_H

#include "runtime/driver/driver.h"

/* Checks form and names when a kernel is made: TOMBAC_ERROR_SOURCE that names the place. */
tombac_status rt_contract_check(const rt_manifest *manifest, tombac_error **error);
/* Checks one launch, whose bindings are complete: TOMBAC_ERROR_CONTRACT with both values. `is_known` says
 * whether the content of an argument's binding is settled, so that it may be read. */
tombac_status rt_contract_verify(const rt_manifest *manifest, const rt_run *run,
    bool (*is_known)(const void *context, size_t argument), const void *context, tombac_error **error);

#endif
