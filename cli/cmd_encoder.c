/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon encoder: trains an encoder on pictures or bags, refines its mixture (cmd_refine.c), or tells what one is. */
#include "nets.h"
#include "pictures.h"
#include "info.h"

#include <string.h>

void cli_put_encoder(FILE *out, const tn_encoder *e)
{
    const char *descriptor = tn_encoder_descriptor(e);
    fprintf(out, "\"encoder\":\"%s\",\"descriptor\":", tn_encoder_kind(e));
    if (descriptor)
        cli_json_string(out, descriptor);
    else
        fputs("null", out);
    if (tn_encoder_network(e)) {
        fputs(",\"network\":", out);
        cli_json_string(out, tn_encoder_network(e));
    }
    fprintf(out, ",\"descriptor_dim\":%zu,\"projected\":%zu,\"words\":%zu,\"pyramid\":\"%s\",\"cols\":%zu",
            tn_encoder_dim(e), tn_encoder_projected(e), tn_encoder_words(e), tn_encoder_pyramid(e), tn_encoder_cols(e));
}

static void say_encoder(FILE *out, const tn_encoder *e)
{
    const char *descriptor = tn_encoder_descriptor(e);
    cli_say(out, "  bags     %s, %zu values, %zu as words are\n",
            descriptor              ? descriptor
            : tn_encoder_network(e) ? "of a network"
                                    : "from anywhere",
            tn_encoder_dim(e), tn_encoder_projected(e));
    cli_say(out, "  words    %zu, pyramid %s\n", tn_encoder_words(e), tn_encoder_pyramid(e));
    cli_say(out, "  vectors  %zu columns\n", tn_encoder_cols(e));
}

int info_encoder(cli_app *app, FILE *out, const char *path)
{
    tn_encoder *e = NULL;
    int code = cli_check(app, tn_encoder_load(app->ctx, path, &e));
    if (code != 0)
        return code;
    if (app->options.json) {
        fputs("{\"path\":", out);
        cli_json_string(out, path);
        fputs(",\"kind\":\"encoder\",", out);
        cli_put_encoder(out, e);
        fputc('}', out);
    } else {
        cli_say(out, "%s: encoder, %s\n", path, tn_encoder_kind(e));
        say_encoder(out, e);
    }
    tn_encoder_free(e);
    return EXIT_FINE;
}

static void print_json(const cli_app *app, const tn_encoder *e, const tn_encoder_info *info)
{
    fputs("{\"command\":\"encoder train\",", stdout);
    cli_put_encoder(stdout, e);
    printf(",\"bags\":%zu,\"missing\":%zu,\"descriptors\":%zu,\"sample\":%zu,\"kept_variance\":", info->bags,
           info->missing, info->descriptors, info->sample);
    cli_json_number(stdout, info->kept);
    printf(",\"iterations\":%zu,\"finished\":%s,\"objective\":", info->iterations, info->finished ? "true" : "false");
    cli_json_number(stdout, info->objective);
    fputs(",\"seconds\":", stdout);
    cli_json_number(stdout, info->seconds);
    fputs(",\"file\":", stdout);
    cli_json_string(stdout, app->options.output);
    cli_json_end(app, stdout);
}

static void print_lines(const cli_app *app, const tn_encoder *e, const tn_encoder_info *info)
{
    printf("encoder, %s\n", tn_encoder_kind(e));
    say_encoder(stdout, e);
    printf("  learned  from %zu of %zu descriptors of %zu %s in %.2f s, %zu iterations%s\n", info->sample,
           info->descriptors, info->bags, tn_encoder_descriptor(e) || tn_encoder_network(e) ? "pictures" : "bags",
           info->seconds, info->iterations, info->finished ? "" : ", stopped by their limit");
    if (tn_encoder_projected(e) < tn_encoder_dim(e))
        printf("  kept     %.1f %% of the variance\n", 100 * info->kept);
    cli_say(stdout, "saved as   %s\n", app->options.output);
}

/* On what a network makes of IMAGES, as a bag. */
static int train_network(cli_app *app, tn_encoder_info *info, tn_encoder **out)
{
    int code = EXIT_FINE;
    cli_networks networks = {NULL, NULL, 0};
    if (app->options.nets.count != 1)
        CLI_TRY(cli_fail(app, EXIT_USAGE, "--net: got %zu networks, expected one", app->options.nets.count));
    app->options.as = CLI_AS_BAG;
    CLI_TRY(cli_networks_open(app, &networks));
    CLI_TRY(
        cli_check(app, tn_encoder_train_network(app->ctx, app->pictures, networks.items[0], app->library, info, out)));
done:
    cli_networks_close(&networks);
    return code;
}

static int train(cli_app *app)
{
    int code = EXIT_FINE;
    tn_encoder *e = NULL;
    tn_bags *bags = NULL;
    tn_encoder_info info = {0};
    CLI_TRY(cli_need_output(app));
    if (!app->options.bags && app->arg_count < 2)
        CLI_TRY(
            cli_fail(app, EXIT_USAGE, "expected IMAGES or --bags; usage: tenon encoder %s", app->command->arguments));
    if (app->options.bags) {
        CLI_TRY(cli_bags_open(app, &bags));
        CLI_TRY(cli_check(app, tn_encoder_train_bags(app->ctx, bags, app->library, &info, &e)));
    } else {
        CLI_TRY(cli_images_open(app, app->args + 1, app->arg_count - 1));
        CLI_TRY(app->options.nets.count
                    ? train_network(app, &info, &e)
                    : cli_check(app, tn_encoder_train(app->ctx, app->pictures, app->library, &info, &e)));
    }
    CLI_TRY(cli_check(app, tn_encoder_save(app->ctx, e, app->line, app->options.output)));
    cli_progress_clear();
    if (app->options.json)
        print_json(app, e, &info);
    else if (!cli_says_nothing(app))
        print_lines(app, e, &info);
done:
    tn_encoder_free(e);
    tn_bags_free(bags);
    return code;
}

int cmd_encoder(cli_app *app)
{
    if (strcmp(app->args[0], "train") == 0)
        return train(app);
    if (strcmp(app->args[0], "refine") == 0)
        return cli_refine(app);
    if (app->arg_count < 2)
        return cli_fail(app, EXIT_USAGE, "expected an encoder; usage: tenon encoder %s", app->command->arguments);
    app->args += 1; /* what follows is files, as for tenon info */
    app->arg_count -= 1;
    int code = cmd_info(app);
    app->args -= 1;
    app->arg_count += 1;
    return code;
}
