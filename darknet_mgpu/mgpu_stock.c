/* mgpu_stock.c: Darknet's own commands, run on a root of replicas. */
#include "mgpu_stock.h"
#include "mgpu_arguments.h"
#include "mgpu_cfg.h"
#include "mgpu_data.h"
#include "mgpu_error.h"
#include "mgpu_file.h"
#include "mgpu_hooks.h"
#include "mgpu_random.h"
#include "mgpu_root.h"

#include <stdlib.h>
#include <string.h>

/* The commands of Darknet's main. Those with a second word have it in `gains` (it trains or
 * predicts several rows at a time, through functions that a root has) or in `runs`: it
 * predicts row by row, looks at other layers than the output, or calls forward_network
 * itself. A single word has neither, and gains nothing. */
typedef struct {
    const char *name;
    int least; /* words after the name that Darknet reads whether they are there or not */
    const char *gains; /* lists of words with a blank between; NULL: none */
    const char *runs;
    const char *saves; /* saves checkpoints in a directory that -backup replaces */
    const char *lists; /* has the name of its list of images, which -list replaces */
    int seeds;         /* 1: the words of `runs` have a -seed of Darknet's */
} command;

static const command commands[] = {
    {"classifier", 3, .gains = "train validcrop test", .saves = "train",
     .runs = "predict fout try demo gun threat csv label valid validmulti valid10 validfull"},
    {"detector", 3, .gains = "train", .saves = "train", .runs = "test valid valid2 recall demo",
     .lists = "recall"},
    {"segmenter", 3, .gains = "train", .saves = "train", .runs = "test demo"},
    {"isegmenter", 3, .gains = "train", .saves = "train", .runs = "test demo"},
    {"regressor", 3, .gains = "train", .saves = "train", .runs = "test demo"},
    {"tag", 2, .gains = "train", .saves = "train", .lists = "train", .runs = "test"},
    {"yolo", 2, .gains = "train", .saves = "train", .lists = "train valid recall",
     .runs = "test valid recall demo"},
    {"coco", 2, .gains = "train", .saves = "train", .lists = "train valid recall",
     .runs = "test valid recall demo"},
    {"super", 2, .gains = "train", .saves = "train", .lists = "train", .runs = "test"},
    {"rnn", 2, .gains = "train", .saves = "train", .seeds = 1,
     .runs = "valid validtactic vec generate generatetactic"},
    {"cifar", 2, .gains = "train distill test csv csvtrain", .saves = "train distill",
     .runs = "extract multi eval"},
    {"go", 2, .gains = "train", .saves = "train", .runs = "valid self test engine"},
    {"lsd", 2, .saves = "traingan trainprog traincolor", .lists = "traincolor",
     .runs = "traingan trainprog traincolor gan inter test color"},
    {"average", .least = 3},
    {"detect", .least = 2},
    {"classify", .least = 2},
    {"art", .least = 2},
    {"3d", .least = 3},
    {"test", .least = 1},
    {"imtest", .least = 1},
    {"nightmare", .least = 4},
    {"rgbgr", .least = 3},
    {"reset", .least = 3},
    {"denormalize", .least = 3},
    {"statistics", .least = 2},
    {"normalize", .least = 3},
    {"rescale", .least = 3},
    {"ops", .least = 1},
    {"speed", .least = 1},
    {"oneoff", .least = 3},
    {"oneoff2", .least = 4},
    {"print", .least = 3},
    {"partial", .least = 4},
    {"visualize", .least = 1},
    {"mkimg", .least = 6},
};

/* The command that runs in this process, once it was prepared. */
static struct {
    char name[64]; /* both words */
    int pending;   /* 1: the next load_network is to give a root */
    mgpu_options options;
    mgpu_list devices, shares;
    char *backup, *list; /* NULL: what Darknet says */
    network *root;       /* NULL: none yet */
    char *base;          /* of its cfg's name */
    char *directory;     /* that it saves to; NULL: none yet */
} stock;

static int has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for(const char *at = list; at && n && (at = strstr(at, word)); at += n) {
        if((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return 1;
    }
    return 0;
}

static const command *find(const char *name)
{
    for(size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
        if(strcmp(commands[i].name, name) == 0) return commands + i;
    }
    return 0;
}

/* Takes this module's options off the words that follow the command's name. */
static int take_options(const command *c, int gains, int *argc, char **argv)
{
    int ngpus = 0;
    mgpu_options *o = &stock.options;
    const mgpu_argument table[] = {
        {"-seed", MGPU_SEED, &o->seed, 0, 0}, /* first: not taken where Darknet has one */
        {"-gpus", MGPU_DEVICES, &stock.devices, 0, 0},
        {"-ngpus", MGPU_INTEGER, &ngpus, 1, MGPU_HOST_DEVICES},
        {"-shares", MGPU_SHARES, &stock.shares, 0, 0},
        MGPU_DEVICE_ARGUMENTS(o),
        MGPU_TRAINING_ARGUMENTS(o),
        {"-backup", MGPU_TEXT, &stock.backup, 0, 0},
        {"-list", MGPU_TEXT, &stock.list, 0, 0},
    };
    int skipped = c->seeds && !gains;
    *o = mgpu_default_options();
    if(mgpu_take_arguments(argc, argv, table + skipped, sizeof table / sizeof *table - skipped))
        return -1;
    return mgpu_choose_devices(&stock.devices, ngpus, &stock.shares, o);
}

static int check_words(const command *c, const char *second, int words)
{
    if(words < c->least) return mgpu_fail("%d words are missing", c->least - words);
    if(stock.backup && !has_word(c->saves, second)) {
        return mgpu_fail("-backup: '%s' saves no checkpoints", stock.name);
    }
    if(stock.list && !has_word(c->lists, second)) {
        return mgpu_fail("-list: '%s' has no list of images of its own", stock.name);
    }
    return 0;
}

/* Before an error ends the command. */
static void rescue(void)
{
    if(stock.root && stock.directory) {
        mgpu_root_rescue(stock.root, stock.directory, stock.base);
    }
}

int mgpu_stock_prepare(int *argc, char **argv)
{
    const command *c = find(argv[2]);
    if(!c) return 1;
    const char *second = c->runs && *argc > 3 ? argv[3] : "";
    int gains = has_word(c->gains, second);
    if(*second && !gains && !has_word(c->runs, second)) {
        return mgpu_fail("Darknet has no command '%s %s'", c->name, second);
    }
    snprintf(stock.name, sizeof stock.name, "%s%s%s", c->name, *second ? " " : "", second);
    int words = *argc - 3;
    if(take_options(c, gains, &words, argv + 3) < 0) return -1;
    if(check_words(c, second, words) < 0) return -1;
    *argc = words + 2;
    memmove(argv + 1, argv + 2, *argc * sizeof *argv);
    if(!c->seeds || gains) {
        mgpu_random_fix(stock.options.seed);
        mgpu_seed_loading(stock.options.seed, 1);
    }
    mgpu_errors_end(rescue);
    stock.pending = gains;
    if(gains) return 0;
    fprintf(stderr,
            "darknet mgpu: '%s' does not train or predict with several devices: it runs on "
            "one\n",
            stock.name);
    return 0;
}

int mgpu_stock_device(int otherwise)
{
    if(stock.options.nogpu) return -1;
    return stock.devices.n ? stock.devices.values[0] : otherwise;
}

static void refuse(void)
{
    fflush(stdout);
    fprintf(stderr, "darknet mgpu %s: %s\n", stock.name, mgpu_error());
    exit(1);
}

network *mgpu_load_root(char *cfg, char *weights, int clear)
{
    if(!stock.pending) return 0;
    stock.pending = 0;
    network *root = mgpu_load_network(cfg, weights, clear, &stock.options);
    if(!root) refuse();
    stock.root = root;
    stock.base = basecfg(cfg);
    mgpu_seed_loading(stock.options.seed, mgpu_cfg_net(cfg, "flip", 1));
    return root;
}

/* Looked at before the first step, so that no training is lost. */
char *mgpu_backup(char *directory)
{
    if(!*stock.name) return directory;
    if(stock.backup) directory = stock.backup;
    if(mgpu_check_backup(directory) < 0) refuse();
    return stock.directory = directory;
}

char *mgpu_image_list(char *file)
{
    return stock.list ? stock.list : file;
}
