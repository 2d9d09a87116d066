/* export.h: what is visible outside of the shared library. */
#ifndef COMP_EXPORT_H
#define COMP_EXPORT_H

/* Marks a function as part of the public interface. Everything else is built with hidden visibility. */
#if defined(__cplusplus)
#define COMP_API extern "C" __attribute__((visibility("default")))
#else
#define COMP_API __attribute__((visibility("default")))
#endif

/* Lets the compiler check the arguments of printf-like functions. */
#define COMP_PRINTF(text, first) __attribute__((format(printf, text, first)))

#endif
