/* mgpu_stock.h: Darknet's own commands, run on a root of replicas. */
#ifndef MGPU_STOCK_H
#define MGPU_STOCK_H

/* Prepares `darknet mgpu <command of Darknet's> ...`, given main's words: takes this
 * module's options and the word `mgpu` off them, so that Darknet's main goes on as if the
 * rest had been typed, and sees to it that the command's first load_network() gives a root
 * of replicas, if the command can gain by them; says on stderr if it can not.
 * Draws then depend on the seed alone: the order in which main's thread draws is the
 * command's, and each thread that loads rows has its own stream. Exceptions are Darknet's
 * `rnn` commands that have a -seed and a -srand of their own.
 * Returns 0; 1 if Darknet has no such command; or -1 with mgpu_error(). */
int mgpu_stock_prepare(int *argc, char **argv);

/* The device, -1 for the host, on which main does what replicas do not: the first that a
 * prepared command's options name, and else `otherwise`. */
int mgpu_stock_device(int otherwise);

#endif
