/** The usage of OpenAI's Responses, with the vendor's tools that it used. Used by formats and providers. */
import { isObject, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { setLongWrites, setReportedCost, setToolCounts } from './openai-usage.ts'
import type { Usage } from './usage.ts'
import { countOf, firstCount, membersOf, setCount, setServed } from './usage-fields.ts'

/** Reads a field of the Response by its name; undefined = it has none. */
export type ResponseField = (name: string) => unknown

/**
 * The usage of a Response. Undefined when it is missing or not plausible: such a report is worth no more than none.
 * `output` is asked for only where `tools` names one of the vendor's, because it may hold megabytes of pictures.
 */
export function readResponsesUsage(field: ResponseField): Usage | undefined {
  const usage = membersOf(field('usage'))
  const result = responsesTokens(usage)
  if (!result) return undefined
  setServed(result, { serviceTier: field('service_tier') })
  setReportedCost(result, usage)
  setToolCounts(result, usage)
  const tools = objectsOf(field('tools'))
  const vendorTools = tools.filter(({ type }) => typeof type === 'string' && isVendorTool(type))
  if (vendorTools.length > 0 || field('tool_usage') !== undefined) setOpenaiTools(result, field, vendorTools)
  return result
}

/** The tokens alone: of a Response, or of a batch (OpenAI, "The batch object"), whose names are the same. */
export function responsesTokens(usage: Json): Usage | undefined {
  const inputTokens = countOf(usage.input_tokens)
  const output = countOf(usage.output_tokens)
  if (inputTokens === undefined || output === undefined) return undefined
  const input = membersOf(usage.input_tokens_details)
  const reasoning = firstCount(membersOf(usage.output_tokens_details).reasoning_tokens)
  const outputTokens = reasoning > output ? output + reasoning : output
  const result: Usage = { inputTokens, outputTokens }
  const cached = Math.min(firstCount(input.cached_tokens), inputTokens)
  setCount(result, 'cachedInputTokens', cached)
  setCount(result, 'cacheWriteTokens', firstCount(input.cache_write_tokens), inputTokens - cached)
  setLongWrites(result, input)
  setCount(result, 'reasoningTokens', reasoning, outputTokens)
  return result
}

const isVendorTool = (type: string): boolean =>
  /^(web_search|file_search|code_interpreter|image_generation|computer_use|local_shell$|shell$)/.test(type)

/**
 * Searches, containers and pictures (developers.openai.com, "Pricing", tools, 2026-11). Of a web search the actions
 * `open_page` and `find_in_page` are not charged. A container is charged once however often it is called.
 */
function setOpenaiTools(result: Usage, field: ResponseField, vendorTools: readonly Json[]): void {
  const toolUsage = membersOf(field('tool_usage'))
  const output = vendorTools.length > 0 ? objectsOf(field('output')) : []
  const ofType = (type: string) => output.filter(item => item.type === type)
  const searched = ofType('web_search_call').filter(({ action }) => membersOf(action).type !== 'open_page')
  const counted = searched.filter(({ action }) => membersOf(action).type !== 'find_in_page').length
  const searches = countOf(membersOf(toolUsage.web_search).num_requests) ?? counted
  // The tool before `web_search` has prices that depend on the kind of model.
  const isPreview = vendorTools.some(({ type }) => String(type).startsWith('web_search_preview'))
  if (result.webSearches === undefined) setCount(result, isPreview ? 'webSearchPreviews' : 'webSearches', searches)
  if (result.fileSearches === undefined) setCount(result, 'fileSearches', ofType('file_search_call').length)
  const containers = new Set(ofType('code_interpreter_call').map(call => call.container_id))
  if (result.codeSessions === undefined) setCount(result, 'codeSessions', containers.size)
  setImageTokens(result, toolUsage.image_gen, vendorTools)
  const drew = ofType('image_generation_call').length
  if (toolUsage.image_gen === undefined && result.otherToolUses === undefined) setCount(result, 'otherToolUses', drew)
}

/** Tokens of the model that drew, which are not among those of the Response. */
function setImageTokens(result: Usage, value: unknown, vendorTools: readonly Json[]): void {
  if (!isObject(value)) return
  const usage = imageTokens(value)
  if (!usage || usage.inputTokens + usage.outputTokens === 0) return
  const { model } = vendorTools.find(({ type }) => type === 'image_generation') ?? {}
  result.otherModels = [{ model: typeof model === 'string' ? model : '', usage }]
  result.inputTokens += usage.inputTokens
  result.outputTokens += usage.outputTokens
}

/**
 * Tokens of a model that draws: `usage` of the Images API, and of the tool (OpenAI API reference, "Images"). All of the
 * output is pictures, unless the details say otherwise. Undefined = not plausible.
 */
export function imageTokens(value: Json): Usage | undefined {
  const inputTokens = countOf(value.input_tokens)
  const outputTokens = countOf(value.output_tokens ?? 0)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  const usage: Usage = { inputTokens, outputTokens }
  const input = membersOf(value.input_tokens_details)
  const output = membersOf(value.output_tokens_details)
  const cached = membersOf(value.cached_tokens_details ?? input.cached_tokens_details)
  setCount(usage, 'inputImageTokens', firstCount(input.image_tokens), inputTokens)
  setCount(usage, 'cachedInputTokens', firstCount(value.cached_tokens, input.cached_tokens), inputTokens)
  const cachedImages = countOf(cached.cached_image_tokens ?? cached.image_tokens)
  if (cachedImages !== undefined && usage.cachedInputTokens) usage.cachedImageTokens = cachedImages
  usage.outputImageTokens = Math.min(countOf(output.image_tokens) ?? outputTokens, outputTokens)
  return usage
}
