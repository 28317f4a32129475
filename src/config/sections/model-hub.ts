/** What the model hub shows without a key. */
import { z } from 'zod'
import type { PublicModels } from '../../core/settings.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { text } from './value-types.ts'

/** Keys of `settings`. */
export const modelHubKeys = settingKeys('general', {
  public_model_groups: {
    type: () => z.array(text()).max(1000),
    description:
      'Models that anyone may see in the model hub (`/ui/model_hub`, `GET /public/model_hub`), without a key. ' +
      'Without it nobody sees any, until POST /model_group/make_public names some.',
    example: ['gpt-4.1-mini'],
  },
  public_model_prices: {
    type: () => z.boolean(),
    default: true,
    description: 'false: the public model hub shows no prices.',
    example: false,
  },
})

/** What the file says of the model hub. */
export function publicModelsOf(
  common: Values<typeof modelHubKeys>,
  { lineOf }: { lineOf(path: readonly (string | number)[]): string },
): PublicModels {
  const { public_model_groups: names, public_model_prices: showPrices } = withDefaults(modelHubKeys, common)
  return {
    names: [...new Set(names)],
    showPrices,
    where: names === undefined ? null : lineOf(['settings', 'public_model_groups']),
  }
}
