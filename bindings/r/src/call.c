/* call.c: handles, failures, and calls that compute: see glue.h. */
#include <R_ext/Utils.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "functions.h"
#include "glue.h"

/* ---- Handles --------------------------------------------------------------------------------------------------- */

static const char *const kind_names[] = {"context", "options", "matrix", "data set", "model", "text"};

static void free_object(handle_kind kind, void *object) {
  switch (kind) {
  case HANDLE_CONTEXT:
    comp_context_free(object);
    break;
  case HANDLE_OPTIONS:
    comp_options_free(object);
    break;
  case HANDLE_MATRIX:
    comp_matrix_free(object);
    break;
  case HANDLE_DATASET:
    comp_dataset_free(object);
    break;
  case HANDLE_MODEL:
    comp_model_free(object);
    break;
  case HANDLE_TABLE:
    comp_table_free(object);
    break;
  case HANDLE_TEXT:
    free(object);
    break;
  }
}

/* The tag of a handle is its kind, as an integer. */
static void finalise(SEXP handle) {
  void *object = R_ExternalPtrAddr(handle);
  R_ClearExternalPtr(handle);
  if (object != NULL) free_object((handle_kind)Rf_asInteger(R_ExternalPtrTag(handle)), object);
}

SEXP handle_new(handle_kind kind, SEXP keep) {
  SEXP tag = PROTECT(Rf_ScalarInteger((int)kind));
  SEXP handle = PROTECT(R_MakeExternalPtr(NULL, tag, keep));
  R_RegisterCFinalizer(handle, finalise);
  UNPROTECT(2);
  return handle;
}

/* Frees the object now; the finaliser would do so some time. */
SEXP r_free(SEXP handle) {
  if (TYPEOF(handle) == EXTPTRSXP) finalise(handle);
  return R_NilValue;
}

void handle_set(SEXP handle, void *object) {
  R_SetExternalPtrAddr(handle, object);
}

void *handle_get(SEXP handle, handle_kind kind) {
  if (TYPEOF(handle) != EXTPTRSXP || TYPEOF(R_ExternalPtrTag(handle)) != INTSXP ||
      Rf_asInteger(R_ExternalPtrTag(handle)) != (int)kind)
    Rf_error("a %s of comp was expected", kind_names[kind]);
  void *object = R_ExternalPtrAddr(handle);
  if (object == NULL) Rf_error("this %s of comp was freed, or is of an earlier session", kind_names[kind]);
  return object;
}

/* ---- Failures and text ----------------------------------------------------------------------------------------- */

SEXP text_value(const char *text) {
  if (text == NULL) return R_NilValue;
  SEXP item = PROTECT(Rf_mkCharCE(text, CE_UTF8));
  SEXP value = Rf_ScalarString(item);
  UNPROTECT(1);
  return value;
}

const char *text_at(SEXP vector, R_xlen_t i) {
  SEXP item = STRING_ELT(vector, i);
  return item == NA_STRING ? NULL : Rf_translateCharUTF8(item);
}

const char **texts_of(SEXP vector) {
  if (vector == R_NilValue) return NULL;
  R_xlen_t n = Rf_xlength(vector);
  const char **texts = (const char **)R_alloc((size_t)n + 1, sizeof *texts);
  for (R_xlen_t i = 0; i < n; i++) texts[i] = text_at(vector, i);
  return texts;
}

/* The condition is made by throw() of the package. */
_Noreturn void fail(comp_status status, const char *message) {
  SEXP name = PROTECT(Rf_mkString("comp"));
  SEXP space = PROTECT(R_FindNamespace(name));
  SEXP code = PROTECT(Rf_ScalarInteger((int)status));
  SEXP text = PROTECT(text_value(message));
  SEXP call = PROTECT(Rf_lang3(Rf_install("throw"), code, text));
  Rf_eval(call, space);
  UNPROTECT(5);
  Rf_error("%s", message); /* throw() does not return */
}

void check(comp_status status) {
  if (status != COMP_OK) fail(status, comp_error_message());
}

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

/* The library works on a second thread. A report of it is an event, which R's thread serves while the second one waits.
 * R's thread looks for Ctrl-C 20 times a second. When R wants to jump (Ctrl-C, a callback that fails, a handler of the
 * user that catches a message), the jump is held back until the library has stopped: nothing is lost, and no frame of
 * the library is left behind. */
typedef enum event { EVENT_NONE, EVENT_LOG, EVENT_PROGRESS, EVENT_EPOCH, EVENT_DONE } event;

typedef struct relay {
  comp_context *context;
  SEXP functions; /* list: log, progress, epoch; NULL where there is none */
  call_end *end;
  comp_status (*work)(void *job);
  void *job;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  event event; /* the two threads share this and what follows */
  comp_log_level level;
  const void *report;
  bool answer;
} relay;

/* ---- On the second thread */

static bool post(relay *r, event found, const void *report) {
  pthread_mutex_lock(&r->mutex);
  r->event = found;
  r->report = report;
  r->answer = true;
  pthread_cond_broadcast(&r->changed);
  while (found != EVENT_DONE && r->event != EVENT_NONE) pthread_cond_wait(&r->changed, &r->mutex);
  bool answer = r->answer;
  pthread_mutex_unlock(&r->mutex);
  return answer;
}

static void on_log(void *user, comp_log_level level, const char *message) {
  relay *r = user;
  r->level = level;
  post(r, EVENT_LOG, message);
}

static void on_progress(void *user, const comp_progress *progress) {
  post(user, EVENT_PROGRESS, progress);
}

static bool on_epoch(void *user, const comp_epoch *epoch) {
  return post(user, EVENT_EPOCH, epoch);
}

static void *work_thread(void *user) {
  relay *r = user;
  r->end->status = r->work(r->job);
  if (r->end->status != COMP_OK) snprintf(r->end->message, CALL_MESSAGE, "%s", comp_error_message());
  post(r, EVENT_DONE, NULL);
  return NULL;
}

/* ---- On R's thread */

static SEXP number(double value) {
  return Rf_ScalarReal(value);
}

static SEXP losses(const comp_losses *l) {
  SEXP value = PROTECT(Rf_allocVector(REALSXP, 4));
  const double parts[] = {l->total, l->likelihood, l->kl, l->penalty};
  static const char *const names[] = {"total", "likelihood", "kl", "penalty"};
  SEXP name = PROTECT(Rf_allocVector(STRSXP, 4));
  for (int i = 0; i < 4; i++) {
    REAL(value)[i] = parts[i];
    SET_STRING_ELT(name, i, Rf_mkChar(names[i]));
  }
  Rf_setAttrib(value, R_NamesSymbol, name);
  UNPROTECT(2);
  return value;
}

static SEXP epoch_value(const comp_epoch *e) {
  const char *names[] = {"epoch", "epochs", "steps", "total_steps", "train",   "validation",
                         "best",  "gamma",  "rate",  "blur",        "seconds", ""};
  SEXP value = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(value, 0, number((double)e->epoch));
  SET_VECTOR_ELT(value, 1, number((double)e->epochs));
  SET_VECTOR_ELT(value, 2, number((double)e->steps));
  SET_VECTOR_ELT(value, 3, number((double)e->total_steps));
  SET_VECTOR_ELT(value, 4, losses(&e->train));
  SET_VECTOR_ELT(value, 5, losses(&e->validation));
  SET_VECTOR_ELT(value, 6, Rf_ScalarLogical(e->best));
  SET_VECTOR_ELT(value, 7, number(e->gamma));
  SET_VECTOR_ELT(value, 8, number(e->rate));
  SET_VECTOR_ELT(value, 9, number(e->blur));
  SET_VECTOR_ELT(value, 10, number(e->seconds));
  UNPROTECT(1);
  return value;
}

/* task, unit, done, total, note, finished */
static SEXP progress_call(SEXP function, const comp_progress *p) {
  SEXP call = PROTECT(Rf_allocVector(LANGSXP, 7));
  SETCAR(call, function);
  SEXP at = CDR(call);
  SETCAR(at, text_value(p->task));
  SETCAR(at = CDR(at), text_value(p->unit));
  SETCAR(at = CDR(at), number((double)p->done));
  SETCAR(at = CDR(at), number((double)p->total));
  SETCAR(at = CDR(at), text_value(p->note));
  SETCAR(CDR(at), Rf_ScalarLogical(p->finished));
  UNPROTECT(1);
  return call;
}

static SEXP serve(void *user) {
  relay *r = user;
  SEXP function = VECTOR_ELT(r->functions, r->event - EVENT_LOG);
  if (r->event == EVENT_LOG) {
    SEXP level = PROTECT(Rf_ScalarInteger((int)r->level));
    SEXP text = PROTECT(text_value(r->report));
    SEXP call = PROTECT(Rf_lang3(function, level, text));
    Rf_eval(call, R_GlobalEnv);
    UNPROTECT(3);
  } else if (r->event == EVENT_PROGRESS) {
    SEXP call = PROTECT(progress_call(function, r->report));
    Rf_eval(call, R_GlobalEnv);
    UNPROTECT(1);
  } else {
    SEXP epoch = PROTECT(epoch_value(r->report));
    SEXP call = PROTECT(Rf_lang2(function, epoch));
    SEXP answer = PROTECT(Rf_eval(call, R_GlobalEnv));
    r->answer = !(Rf_isLogical(answer) && Rf_xlength(answer) == 1 && LOGICAL(answer)[0] == 0);
    UNPROTECT(3);
  }
  return R_NilValue;
}

static SEXP look_for_interrupt(void *user) {
  (void)user;
  R_CheckUserInterrupt();
  return R_NilValue;
}

static void hold_jump(void *place, Rboolean jumping) {
  if (jumping) longjmp(*(jmp_buf *)place, 1);
}

/* Runs a function of R. A jump out of it ends here; the library stops, and no other function is run. */
static void safely(relay *r, SEXP (*function)(void *)) {
  jmp_buf place;
  if (setjmp(place) != 0) {
    r->end->jumped = true;
    comp_context_interrupt(r->context);
    return;
  }
  R_UnwindProtect(function, r, hold_jump, &place, r->end->token);
}

/* Waits for an event, but not longer than a twentieth of a second: EVENT_NONE. */
static event next_event(relay *r) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 50000000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  pthread_mutex_lock(&r->mutex);
  int late = 0;
  while (r->event == EVENT_NONE && late == 0) late = pthread_cond_timedwait(&r->changed, &r->mutex, &until);
  event found = r->event;
  pthread_mutex_unlock(&r->mutex);
  return found;
}

static void serve_until_done(relay *r) {
  for (;;) {
    event found = next_event(r);
    if (found == EVENT_DONE) break;
    if (!r->end->jumped) safely(r, found == EVENT_NONE ? look_for_interrupt : serve);
    if (found == EVENT_NONE) continue;
    pthread_mutex_lock(&r->mutex);
    if (r->end->jumped) r->answer = false;
    r->event = EVENT_NONE;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->mutex);
  }
}

/* Signals are R's: the second thread, and threads that it starts, do not take them. */
static int start_thread(pthread_t *thread, relay *r) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int refused = pthread_create(thread, NULL, work_thread, r);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return refused;
}

static void set_callbacks(relay *r, bool on) {
  bool wanted[3];
  for (int i = 0; i < 3; i++) wanted[i] = on && VECTOR_ELT(r->functions, i) != R_NilValue;
  comp_context_on_log(r->context, wanted[0] ? on_log : NULL, r);
  comp_context_on_progress(r->context, wanted[1] ? on_progress : NULL, r);
  comp_context_on_epoch(r->context, wanted[2] ? on_epoch : NULL, r);
}

void call_run(call_end *end, SEXP context, comp_status (*work)(void *job), void *job) {
  *end = (call_end){.status = COMP_ERR_MEMORY, .message = "the system could not start a thread"};
  SEXP kept = R_ExternalPtrProtected(context);
  end->token = VECTOR_ELT(kept, 1);
  relay r = {.context = handle_get(context, HANDLE_CONTEXT),
             .functions = VECTOR_ELT(kept, 0),
             .end = end,
             .work = work,
             .job = job};
  pthread_mutex_init(&r.mutex, NULL);
  pthread_cond_init(&r.changed, NULL);
  set_callbacks(&r, true);
  pthread_t thread;
  if (start_thread(&thread, &r) == 0) {
    serve_until_done(&r);
    pthread_join(thread, NULL);
  }
  set_callbacks(&r, false);
  pthread_cond_destroy(&r.changed);
  pthread_mutex_destroy(&r.mutex);
}

void call_finish(const call_end *end) {
  if (end->jumped) R_ContinueUnwind(end->token);
  if (end->status != COMP_OK) fail(end->status, end->message);
}

/* `functions` are list(log, progress, epoch). */
SEXP r_context_new(SEXP threads, SEXP level, SEXP functions) {
  SEXP kept = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(kept, 0, functions);
  SET_VECTOR_ELT(kept, 1, R_MakeUnwindCont());
  SEXP handle = PROTECT(handle_new(HANDLE_CONTEXT, kept));
  SEXP how = PROTECT(handle_new(HANDLE_OPTIONS, R_NilValue));
  comp_options *options;
  check(comp_options_new(&options, "context"));
  handle_set(how, options);
  check(comp_options_set(options, "threads", text_at(threads, 0)));
  check(comp_options_set(options, "log-level", text_at(level, 0)));
  comp_context *context;
  check(comp_context_new(&context, options));
  handle_set(handle, context);
  UNPROTECT(3);
  return handle;
}
