/* page.h: the page without its data, made from web/dist/report.html by embed.py. */
#ifndef COMP_REPORT_PAGE_H
#define COMP_REPORT_PAGE_H

#include <stddef.h>

/* HTML. Where the data goes it holds COMP__PAGE_PLACE, once; where the title goes COMP__PAGE_TITLE, once. */
extern const unsigned char comp__page[];
extern const size_t comp__page_size;

#define COMP__PAGE_PLACE "<!--comp:data-->"
#define COMP__PAGE_TITLE "<!--comp:title-->"

#endif
