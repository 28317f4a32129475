/** What is said of several deployments together: prices that are missing. */
import type { Deployment } from '../../core/deployment.ts'

/** Model names in one warning. */
const warnedNamesMax = 10

/** One warning for all models without a price; empty = all have one. */
export function missingPriceWarnings(deployments: readonly Deployment[]): string[] {
  const missing = deployments.filter(one => lacksPrice(one) && !one.modelName.includes('*'))
  if (missing.length === 0) return []
  const shown = missing.slice(0, warnedNamesMax).map(one => `${one.modelName} (${one.origin.where})`)
  const named = shown.join(', ')
  const more = missing.length > warnedNamesMax ? ` and ${missing.length - warnedNamesMax} more` : ''
  // The name of an Azure deployment is the operator's own, which no catalogue has.
  const isAzure = missing.some(one => one.target.provider.name.startsWith('azure') && !one.info.base_model)
  const fix =
    `their calls cost null; ${isAzure ? 'name the model of an Azure deployment in model_info.base_model, or ' : ''}` +
    'give input_cost_per_token and output_cost_per_token, or output_cost_per_image and the like'
  return [`no price is known for ${missing.length} of the models: ${named}${more}; ${fix}`]
}

/** Whether a call could not be charged. A text model needs an input and an output price. */
function lacksPrice({ prices, mode }: Deployment): boolean {
  if (!prices) return true
  const { input, output, image, character, audioSecond, searchUnit, request } = prices.later?.at(-1)?.prices ?? prices
  const isText = mode === 'chat' || mode === 'completion'
  if ((image ?? character ?? audioSecond ?? searchUnit ?? request) !== undefined && !isText) return false
  return input === undefined || (isText && output === undefined)
}
