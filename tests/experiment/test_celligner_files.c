/* test_celligner_files.c: small files in the layouts that were published with Celligner. Genes that vary, and by how
 * much, are chosen by the test. */
#include "testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include "experiment/celligner_files.h"

static char folder[] = "/tmp/comp-celligner-XXXXXX";

static void put(const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "data/celligner/%s", name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static int enter(void **state) {
  (void)state;
  return mkdtemp(folder) && chdir(folder) == 0 && mkdir("data", 0700) == 0 && mkdir("data/celligner", 0700) == 0 ? 0
                                                                                                                 : -1;
}

static int clear(void **state) {
  (void)state;
  return system("rm -rf data/celligner/*");
}

static int leave(void **state) {
  (void)state;
  return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static int leave_all(void **state) {
  return system("rm -rf data") == 0 ? leave(state) : -1;
}

/* Variance among tumours: TP53 highest, then KRAS; among cell lines: EGFR, then KRAS. FLAT does not vary; ONLYT is no
 * gene of the cell lines, ONLYC none of the tumours. TP53 is there twice: the first counts. */
#define TUMOURS                                                                                                        \
  "Gene\tTCGA-A\tTCGA-B\tTH-C\tNOT-D\n"                                                                                \
  "TP53\t0\t8.5\t1\t9\n"                                                                                               \
  "EGFR\t1\t1.5\t1\t1\n"                                                                                               \
  "ONLYT\t0\t9\t0\t1\n"                                                                                                \
  "KRAS\t2\t4\t6.25\t0\n"                                                                                              \
  "TP53\t5\t5\t5\t5\n"                                                                                                 \
  "FLAT\t3\t3\t3\t3\n"
#define LINES                                                                                                          \
  ",TP53 (7157),FLAT (1),EGFR (1956),ONLYC (2),KRAS (3845)\n"                                                          \
  "ACH-000001,1,3,0.5,9,2\n"                                                                                           \
  "ACH-000002,1.25,3,7,0,4\n"
#define INFO                                                                                                           \
  "sampleID,sampleID_CCLE_Name,lineage,subtype,Primary/Metastasis,type,UMAP_1\n"                                       \
  "ACH-000002,B_LUNG,lung,NSCLC,Primary,CL,0.5\n"                                                                      \
  "TCGA-A,TCGA-A,lung,LUAD,Primary,tumor,1\n"                                                                          \
  "TCGA-B,TCGA-B,breast,,,tumor,2\n"                                                                                   \
  "TH-C,TH-C,,,,tumor,3\n"                                                                                             \
  "ACH-000001,A_BREAST,breast,,,CL,4\n"

static comp_dataset *read_files(size_t n_genes) {
  comp_context *context = test_context(2);
  comp__celligner_files files;
  comp_dataset *dataset;
  bool found;
  assert_ok(comp__celligner_find(&found, &files, "data"));
  assert_true(found);
  assert_ok(comp__celligner_read(&dataset, context, &files, n_genes));
  comp_context_free(context);
  return dataset;
}

static const char *text(const comp_dataset *d, const char *column, size_t i) {
  static char buffer[64];
  const comp_table *obs = comp_dataset_obs(d);
  size_t c = comp_table_find(obs, column);
  assert_int_not_equal(c, COMP_NOT_FOUND);
  return comp_table_format(obs, c, i, buffer, sizeof buffer);
}

/* All five samples, and the value of a gene in each. */
static void check_gene(const comp_dataset *d, const char *gene, const float *expected) {
  size_t j = comp_dataset_find_var(d, gene);
  if (j == COMP_NOT_FOUND) fail_msg("gene %s is not there", gene);
  for (size_t i = 0; i < 5; i++)
    assert_true(comp_matrix_const_values(comp_dataset_x(d))[i * comp_dataset_feature_count(d) + j] == expected[i]);
}

static const float TP53[] = {0, 8.5F, 1, 1, 1.25F}, KRAS[] = {2, 4, 6.25F, 2, 4}, EGFR[] = {1, 1.5F, 1, 0.5F, 7};

static void check_samples(const comp_dataset *d) {
  static const char *const names[] = {"TCGA-A", "TCGA-B", "TH-C", "ACH-000001", "ACH-000002"};
  static const char *const tissues[] = {"lung", "breast", "", "breast", "lung"};
  assert_int_equal(comp_dataset_sample_count(d), 5);
  for (size_t i = 0; i < 5; i++) {
    assert_string_equal(comp_dataset_obs_name(d, i), names[i]);
    assert_string_equal(text(d, "condition", i), i < 3 ? "tumor" : "CL");
    assert_string_equal(text(d, "tissue", i), tissues[i]);
  }
}

static void test_read(void **state) {
  (void)state;
  put("TumorCompendium_v11_PolyA_hugo_log2tpm_58581genes_2020-04-09.tsv", TUMOURS);
  put("CCLE_expression_full.csv", LINES);
  put("Celligner_info.csv", INFO);
  comp_dataset *d = read_files(100);
  check_samples(d);
  assert_int_equal(comp_dataset_feature_count(d), 3); /* in both, and FLAT does not vary */
  check_gene(d, "TP53", TP53);
  check_gene(d, "KRAS", KRAS);
  check_gene(d, "EGFR", EGFR);
  comp_dataset_free(d);
  d = read_files(1); /* the most variable of each */
  assert_int_equal(comp_dataset_feature_count(d), 2);
  check_gene(d, "TP53", TP53);
  check_gene(d, "EGFR", EGFR);
  comp_dataset_free(d);
  put("hgnc_complete_set_7.24.2018.txt", "hgnc_id\tsymbol\tlocus_group\nHGNC:1\tTP53\tpseudogene\nHGNC:2\tEGFR\t"
                                         "protein-coding gene\nHGNC:3\tKRAS\tnon-coding RNA\n");
  d = read_files(100);
  assert_int_equal(comp_dataset_feature_count(d), 1);
  check_gene(d, "EGFR", EGFR);
  comp_dataset_free(d);
}

/* As on figshare: a column of numbers before Gene, names of genes with those of Ensembl, "disease". */
static void test_other_layout(void **state) {
  (void)state;
  put("TCGA_mat.tsv", "\tGene\tTCGA-A\tTCGA-B\tTH-C\n1\tTP53\t0\t8.5\t1\n2\tKRAS\t2\t4\t6.25\n3\tTP53\t5\t5\t5\n");
  put("CCLE_mat.csv",
      "\"\",\"TP53 (ENSG00000141510)\",\"KRAS (ENSG00000133703)\"\n\"ACH-000001\",1,2\n\"ACH-000002\",1.25,4\n");
  put("Celligner_info.csv",
      "\"\",\"disease\",\"type\"\n\"TCGA-A\",\"lung\",\"tumor\"\n\"TCGA-B\",\"breast\",\"tumor\"\n"
      "\"TH-C\",NA,\"tumor\"\n\"ACH-000001\",\"breast\",\"CL\"\n\"ACH-000002\",\"lung\",\"CL\"\n");
  comp_dataset *d = read_files(100);
  check_samples(d);
  assert_int_equal(comp_dataset_feature_count(d), 2);
  check_gene(d, "TP53", TP53);
  check_gene(d, "KRAS", KRAS);
  comp_dataset_free(d);
}

static void expect_error(const char *message) {
  comp_context *context = test_context(1);
  comp__celligner_files files;
  comp_dataset *dataset;
  bool found;
  assert_ok(comp__celligner_find(&found, &files, "data"));
  assert_error(comp__celligner_read(&dataset, context, &files, 100), COMP_ERR_DATA, message);
  assert_null(dataset);
  comp_context_free(context);
}

static void test_bad(void **state) {
  (void)state;
  comp__celligner_files files;
  bool found;
  assert_ok(comp__celligner_find(&found, &files, "data"));
  assert_false(found);
  put("CCLE_mat.csv", LINES);
  assert_error(comp__celligner_find(&found, &files, "data"), COMP_ERR_DATA, "there is no TCGA_mat.tsv");
  put("TCGA_mat.tsv", TUMOURS);
  assert_error(comp__celligner_find(&found, &files, "data"), COMP_ERR_DATA, "there is no Celligner_info.csv");
  put("Celligner_info.csv", "sampleID,subtype,type\nTCGA-A,x,tumor\n");
  expect_error("neither a column 'lineage' nor 'disease'");
  put("Celligner_info.csv", "sampleID,lineage\nTCGA-A,x\n");
  expect_error("type");
  put("Celligner_info.csv", "sampleID,lineage,type\nTCGA-A,lung,tumor\nTCGA-B,lung,tumor\nACH-9,lung,CL\n");
  expect_error("none of its samples ('ACH-000001', ...)");
  put("Celligner_info.csv", "sampleID,lineage,type\nTCGA-A,lung,CL\n");
  expect_error("'TCGA-A' is of type 'CL'");
  put("Celligner_info.csv", INFO);
  put("hgnc_complete_set.txt", "symbol\tlocus\nTP53\tx\n");
  expect_error("locus_group");
  put("hgnc_complete_set.txt", "symbol\tlocus_group\nABC\tx\n");
  expect_error("knows none of the genes");
  put("TCGA_mat.tsv", "Gene\tTCGA-A\nENSG1\t1\n");
  expect_error("no gene of data/celligner/CCLE_mat.csv ('TP53', ...)");
  put("TCGA_mat.tsv.gz", "");
  assert_error(comp__celligner_find(&found, &files, "data"), COMP_ERR_DATA, "leave the one that is to be used");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_read, clear),
      cmocka_unit_test_teardown(test_other_layout, clear),
      cmocka_unit_test_teardown(test_bad, clear),
  };
  return cmocka_run_group_tests(tests, enter, leave_all);
}
