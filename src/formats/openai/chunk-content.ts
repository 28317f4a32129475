/** What a chunk of a stream, which was read as Latin-1, adds to the answer. */
import { isObject, listOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { utf16Length } from '../../lib/text.ts'

/**
 * Characters of text, thinking, refusal and arguments that a choice adds; 0 = something without characters, such as a
 * picture or the beginning of a call; -1 = nothing.
 */
export function contentCharacters({ delta, text }: Json): number {
  if (!isObject(delta)) return lengthOf(text) || -1
  const { content, refusal, reasoning_content: thinking, reasoning } = delta
  const characters = lengthOf(content) + lengthOf(refusal) + (lengthOf(thinking) || lengthOf(reasoning))
  const { tool_calls: calls, function_call: called } = delta
  if (calls === undefined && called === undefined) return characters || otherContent(delta)
  const all = [...listOf(calls), ...(isObject(called) ? [{ function: called }] : [])].filter(isObject)
  const written = all.reduce((sum, call) => sum + (isObject(call.function) ? lengthOf(call.function.arguments) : 0), 0)
  const isBegun = all.some(call => call.id || (isObject(call.function) && call.function.name))
  return characters + written || (isBegun ? 0 : otherContent(delta))
}

/** Name of the field, where what a choice adds is one text of the answer or of its thinking; else undefined. */
export function onlyText(choice: Json): string | undefined {
  const { delta, text } = choice
  const parts = isObject(delta) ? delta : { text }
  const field = ['content', 'reasoning_content', 'text'].find(name => typeof parts[name] === 'string' && parts[name])
  return field !== undefined && lengthOf(parts[field]) === contentCharacters(choice) ? field : undefined
}

/** Of a text, or of the parts that Mistral and others write (docs.mistral.ai, "Reasoning"). */
function lengthOf(content: unknown): number {
  if (typeof content === 'string') return utf16Length(content)
  let length = 0
  for (const part of listOf(content)) if (isObject(part)) length += lengthOf(part.text) || lengthOf(part.thinking)
  return length
}

/** 0 = pictures, sound, citations or signatures; -1 = none. */
function otherContent({ audio, images, annotations, thinking_blocks: blocks }: Json): number {
  return isObject(audio) || [images, annotations, blocks].some(list => listOf(list).length > 0) ? 0 : -1
}
