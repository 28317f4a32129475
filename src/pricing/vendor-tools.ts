/** Whether a request lets the vendor do more than answer: what that uses, and how much, only the answer shows. */
import type { JsonBody } from '../lib/json/json-body.ts'
import { isObject, objectsOf } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'

/** Tools that the client runs, in the words of OpenAI and Anthropic; a tool without a `type` is one of Anthropic's. */
const clientTools = /^(function|custom|namespace|computer_\d+|bash_\d+|text_editor_\d+|memory_\d+)$/
/** Gemini's tools that the client runs. */
const clientDeclarations: ReadonlySet<string> = new Set(['functionDeclarations', 'function_declarations'])
/** Other fields with which the vendor searches, asks further models, or reads the conversation once more. */
const searchField = 'web_search_options'
const vendorFields = ['search_parameters', 'plugins', 'fallbacks', 'context_management'] as const
/** Fields that name input which is not in the body: earlier turns, and what an explicit cache holds. */
const storedInput = ['previous_response_id', 'conversation', 'cachedContent', 'cached_content'] as const

/** true = the vendor may search, run code, or ask other models, as often as it decides. */
export function letsVendorAct(body: JsonBody): boolean {
  // Without a member it asks for a search like any other.
  if (body.has(searchField) && isObject(body.get(searchField))) return true
  if (vendorFields.some(field => body.has(field) && isGiven(body.get(field)))) return true
  return body.has('tools') && objectsOf(body.get('tools')).some(isVendorTool)
}

/** true = the input is more than the body. */
export function namesStoredInput(body: JsonBody): boolean {
  return storedInput.some(field => body.has(field) && isGiven(body.get(field)))
}

/** Not absent, and no empty list or object. */
function isGiven(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return isObject(value) ? Object.keys(value).length > 0 : Boolean(value)
}

function isVendorTool(tool: Json): boolean {
  if (typeof tool.type === 'string') return !clientTools.test(tool.type)
  if (tool.type !== undefined && tool.type !== null) return true
  // Gemini's tools are named by their key.
  const isGemini = tool.name === undefined && tool.input_schema === undefined && tool.function === undefined
  return isGemini && Object.keys(tool).some(key => !clientDeclarations.has(key))
}
