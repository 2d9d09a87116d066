/* fuzz_tenx.c: 10x .h5 files of both versions, right and wrong, as h5_recipe.h makes them. */
#include "h5_recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_version3(recipe *r, hid_t group, unsigned genes) {
  static const char *const lists[] = {"id", "name", "feature_type", "genome"};
  hid_t features = H5Gcreate2(group, "features", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (features < 0) return;
  for (int i = 0; i < 4; i++) put_texts(r, features, lists[i], genes);
  H5Gclose(features);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  recipe r = {data, size, size % 2 == 1};
  int fd;
  const char *path = recipe_path(&fd);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (file < 0) abort();
  unsigned parts = take(&r), cells = take(&r) & 15, genes = take(&r) & 15;
  for (unsigned i = 0; i <= (parts & 1); i++) { /* two groups: two genomes, or both versions at once */
    bool version3 = i == 0 && (parts & 2);
    hid_t group = H5Gcreate2(file, version3 ? "matrix" : i ? "mm10" : "hg19", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int8_t shape[2] = {(int8_t)mostly(&r, genes), (int8_t)mostly(&r, cells)};
    hsize_t two = 2;
    hid_t space = H5Screate_simple(1, &two, NULL);
    hid_t dataset = H5Dcreate2(group, "shape", H5T_STD_I8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_STD_I8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, shape);
    H5Dclose(dataset);
    H5Sclose(space);
    put_texts(&r, group, "barcodes", cells);
    if (version3) {
      put_version3(&r, group, genes);
    } else {
      put_texts(&r, group, "genes", genes);
      put_texts(&r, group, "gene_names", genes);
    }
    put_sparse_parts(&r, group, cells);
    H5Gclose(group);
  }
  H5Fclose(file);
  spoil_heap(&r, fd);
  read_recipe(&r, path);
  return 0;
}
