/** What Google's API reads and refuses beyond the shape of a request: https://ai.google.dev/api/generate-content. */
import { geminiLevels, geminiThinking } from '../../../rules/gemini.ts'
import type { GeminiLevel } from '../../../rules/gemini.ts'
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { JsonObject } from '../../lib/json.ts'
import { ApiError } from '../response.ts'

/** An error in Google's words. */
export const invalid = (message: string): ApiError => new ApiError(message, { code: 'INVALID_ARGUMENT' })

/** Their content is the client's own, whose names are data. */
const opaque: ReadonlySet<string> = new Set([
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  'args',
  'response',
])

/** The request in camelCase: protobuf's JSON has both spellings for each field. */
export function spelled(request: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(request).map(([name, value]) => {
      const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
      return [camel, opaque.has(camel) ? value : inside(value)]
    }),
  )
}

function inside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inside)
  return isJsonObject(value) ? spelled(value) : value
}

const functionName = /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/

/** Throws ApiError for names of functions, and for calls and responses that do not belong together. */
export function checkFunctions(body: JsonObject, contents: readonly JsonObject[]): void {
  for (const [at, tool] of objectsOf(body.tools).entries())
    for (const [place, { name }] of objectsOf(tool.functionDeclarations).entries())
      if (typeof name !== 'string' || !functionName.test(name))
        throw invalid(
          `* GenerateContentRequest.tools[${at}].function_declarations[${place}].name: Invalid function name. Must ` +
            'start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), ' +
            'colons (:), or dashes (-), with a maximum length of 64.',
        )
  const count = (content: JsonObject | undefined, field: string): number =>
    objectsOf(content?.parts).filter(part => isJsonObject(part[field])).length
  for (const [at, content] of contents.entries()) {
    const responses = count(content, 'functionResponse')
    const calls = count(contents[at - 1], 'functionCall')
    if (responses > 0 && calls === 0)
      throw invalid('Please ensure that function response turn comes immediately after a function call turn.')
    if (calls > 0 && responses !== calls)
      throw invalid(
        'Please ensure that the number of function response parts is equal to the number of function call parts of ' +
          'the function call turn.',
      )
  }
}

const levels: ReadonlySet<string> = new Set([
  'THINKING_LEVEL_UNSPECIFIED',
  ...geminiLevels.map(word => word.toUpperCase()),
])

/** Throws ApiError for a level that is none or not of the model, and for a level beside a budget. */
export function checkThinking({ thinkingLevel: level, thinkingBudget: budget }: JsonObject, model: string): void {
  const thinking = geminiThinking(model)
  if (budget === 0 && thinking.by === 'budget' && !thinking.canStop)
    throw invalid('Budget 0 is invalid. This model only works in thinking mode.')
  if (level === undefined) return
  if (typeof level !== 'string' || !levels.has(level.toUpperCase()))
    throw invalid(
      `Invalid value at 'generation_config.thinking_config.thinking_level' ` +
        `(type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), "${String(level)}"`,
    )
  if (thinking.by === 'budget') throw invalid('Thinking level is not supported for this model.')
  if (thinking.by === 'level' && !thinking.levels.includes(level.toLowerCase() as GeminiLevel))
    throw invalid(`Thinking level ${level.toUpperCase()} is not supported for this model.`)
  if (budget !== undefined) throw invalid('You can only set only one of thinking budget and thinking level.')
}
