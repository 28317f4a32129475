/** What models can do, in the order in which it is told. */
import type { HubModel } from '../../api/model-groups.ts'
import type { StringKey } from '../model-hub.page.ts'

/** The field of a model that says it -> its word. */
export const abilityWords = {
  supports_vision: 'hub.vision',
  supports_pdf_input: 'hub.pdf',
  supports_audio_input: 'hub.audioIn',
  supports_audio_output: 'hub.audioOut',
  supports_function_calling: 'hub.tools',
  supports_response_schema: 'hub.schema',
  supports_reasoning: 'hub.reasoning',
  supports_web_search: 'hub.webSearch',
  supports_prompt_caching: 'hub.promptCache',
} as const satisfies Partial<Record<keyof HubModel, StringKey>>

/** One of the abilities that are told. */
export type Ability = keyof typeof abilityWords

const all = Object.keys(abilityWords) as Ability[]

/** Those that the model is known to have. */
export const abilities = (model: HubModel): Ability[] => all.filter(one => model[one] === true)
