/** What the model hub shows without a key. */
import { z } from 'zod'

/** The keys of `settings` that say which models are shown without a key. */
export const modelHubSettings = {
  public_model_groups: z
    .array(z.string().min(1))
    .max(1000)
    .optional()
    .describe(
      'Models that anyone may see in the model hub (`/ui/model_hub`, `GET /public/model_hub`), without a key. ' +
        'None when left out, until POST /model_group/make_public names some.',
    ),
  public_model_prices: z.boolean().optional().describe('false: the public model hub shows no prices.'),
}
