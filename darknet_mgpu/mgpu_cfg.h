/* mgpu_cfg.h: a cfg file, checked before Darknet's parser reads it: that parser divides by
 * what it reads and follows the layer numbers that it finds. */
#ifndef MGPU_CFG_H
#define MGPU_CFG_H

/* Returns 0 if `file` is a cfg that Darknet can read without harm: sections that it
 * knows, [net] first and a layer after it, sizes within reason, `batch` divided by
 * `subdivisions`, routes and shortcuts to layers before them, lists of equal lengths.
 * Else -1 with mgpu_error() naming the line. Layers' shapes are left to Darknet. */
int mgpu_check_cfg(const char *file);

/* The whole number that the [net] section of a checked cfg gives `key`. */
int mgpu_cfg_net(const char *file, const char *key, int otherwise);

#endif
