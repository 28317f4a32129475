/** What can be said of a request without any model (ai.google.dev/api/generate-content). */
import type { Inspection } from '../../core/format.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { checkFields, isObject, objectField, ProblemList, readField, stringField } from '../common/field-checks.ts'
import type { Check, Fields, Path } from '../common/field-checks.ts'
import { checkContent, checkContents } from './inspect-contents.ts'
import { camel, checkSpelling, checksOf, entryPath, enumWord, listOf } from './json-names.ts'

interface NumberRule {
  readonly least: number
  readonly most: number
  readonly integer?: true
}

const whole = (least: number, most = Number.MAX_SAFE_INTEGER): NumberRule => ({ least, most, integer: true })

const numbers: Readonly<Record<string, NumberRule>> = {
  temperature: { least: 0, most: 2 },
  topP: { least: 0, most: 1 },
  topK: whole(0),
  candidateCount: whole(1, 128),
  maxOutputTokens: whole(1),
  presencePenalty: { least: -2, most: 2 },
  frequencyPenalty: { least: -2, most: 2 },
  seed: whole(Number.MIN_SAFE_INTEGER),
  logprobs: whole(0, 20),
}

function checkNumber(value: unknown, path: Path, rule: NumberRule, problems: ProblemList): void {
  const { least, most, integer } = rule
  const isOpen = most === Number.MAX_SAFE_INTEGER
  const bound = isOpen
    ? least === Number.MIN_SAFE_INTEGER
      ? ''
      : ` of at least ${least}`
    : ` between ${least} and ${most}`
  const what = `${integer ? 'an integer' : 'a number'}${bound}`
  if (typeof value !== 'number' || (integer && Number.isFinite(value) && !Number.isInteger(value)))
    problems.wrong(path, what, value)
  else if (!(value >= least && value <= most)) problems.outOfRange(path, what, value)
}

function checkGenerationConfig(value: unknown, problems: ProblemList): void {
  const path = ['generationConfig']
  if (!isObject(value)) return problems.wrong(path, 'an object', value)
  checkSpelling(value, path, problems)
  const config = camel(value)
  for (const [name, rule] of Object.entries(numbers))
    if (config[name] != null) checkNumber(config[name], [...path, name], rule, problems)
  const { stopSequences: stops, thinkingConfig: thinking } = config
  if (stops != null && !(Array.isArray(stops) && stops.every(stop => typeof stop === 'string')))
    problems.wrong([...path, 'stopSequences'], 'an array of strings', stops)
  if (config.responseLogprobs != null && typeof config.responseLogprobs !== 'boolean')
    problems.wrong([...path, 'responseLogprobs'], 'true or false', config.responseLogprobs)
  if (config.responseMimeType != null && typeof config.responseMimeType !== 'string')
    problems.wrong([...path, 'responseMimeType'], 'a string such as "application/json"', config.responseMimeType)
  for (const name of ['responseSchema', 'responseJsonSchema'])
    if (config[name] != null && !isObject(config[name]))
      problems.wrong([...path, name], 'an object (a schema)', config[name])
  if (thinking != null) checkThinking(thinking, [...path, 'thinkingConfig'], problems)
}

function checkThinking(value: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(path, 'an object such as {"thinkingBudget": 1024}', value)
  const { includeThoughts, thinkingBudget, thinkingLevel } = camel(value)
  if (includeThoughts != null && typeof includeThoughts !== 'boolean')
    problems.wrong([...path, 'includeThoughts'], 'true or false', includeThoughts)
  if (thinkingBudget != null) checkNumber(thinkingBudget, [...path, 'thinkingBudget'], whole(-1), problems)
  if (thinkingLevel != null && typeof thinkingLevel !== 'string')
    problems.wrong([...path, 'thinkingLevel'], '"MINIMAL", "LOW", "MEDIUM" or "HIGH"', thinkingLevel)
}

function checkSystem(value: unknown, problems: ProblemList): void {
  // Its role says nothing: clients write "user", "model" or "system".
  checkContent(isObject(value) ? { ...value, role: undefined } : value, ['systemInstruction'], problems)
}

function checkTools(value: unknown, problems: ProblemList): void {
  const list = listOf(value)
  for (let at = 0; at < list.length && !problems.full; at++) {
    const path = entryPath(['tools'], value, at)
    const tool = list[at]
    if (!isObject(tool)) problems.wrong(path, 'an object such as {"functionDeclarations": [...]}', tool)
    else {
      checkSpelling(tool, path, problems)
      const declarations = camel(tool).functionDeclarations
      listOf(declarations).forEach((one, index) => {
        if (!problems.full)
          checkDeclaration(one, entryPath([...path, 'functionDeclarations'], declarations, index), problems)
      })
    }
  }
}

function checkDeclaration(value: unknown, path: Path, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(path, 'an object with a `name`', value)
  const { name, description, parameters, parametersJsonSchema } = camel(value)
  if (typeof name !== 'string' || name === '') problems.wrong([...path, 'name'], 'a string that is not empty', name)
  if (description != null && typeof description !== 'string')
    problems.wrong([...path, 'description'], 'a string', description)
  if (parameters != null && !isObject(parameters))
    problems.wrong([...path, 'parameters'], 'an object (a schema)', parameters)
  if (parametersJsonSchema != null && !isObject(parametersJsonSchema))
    problems.wrong([...path, 'parametersJsonSchema'], 'an object (JSON Schema)', parametersJsonSchema)
  if (parameters != null && parametersJsonSchema != null)
    problems.add([...path, 'parametersJsonSchema'], 'send `parameters` or `parametersJsonSchema`, not both', 'invalid')
}

const callingModes: ReadonlySet<string> = new Set(['AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED'])

function checkToolConfig(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(['toolConfig'], 'an object', value)
  const calling = camel(value).functionCallingConfig
  if (calling == null) return
  const path = ['toolConfig', 'functionCallingConfig']
  if (!isObject(calling)) return problems.wrong(path, 'an object such as {"mode": "AUTO"}', calling)
  const { mode, allowedFunctionNames: names } = camel(calling)
  if (mode != null && !callingModes.has(enumWord(mode)))
    problems.unknownValue([...path, 'mode'], '"AUTO", "ANY", "NONE" or "VALIDATED"', mode)
  if (names != null && !(Array.isArray(names) && names.every(name => typeof name === 'string')))
    problems.wrong([...path, 'allowedFunctionNames'], 'an array of strings', names)
}

function checkSafety(value: unknown, problems: ProblemList): void {
  listOf(value).forEach((one, at) => {
    if (!isObject(one))
      problems.wrong(entryPath(['safetySettings'], value, at), 'an object with `category` and `threshold`', one)
  })
}

/** In a large body the large fields wait for `decode`, which runs the same checks. */
const checks: Readonly<Record<string, Check>> = {
  contents: checkContents,
  systemInstruction: checkSystem,
  tools: checkTools,
  toolConfig: checkToolConfig,
  generationConfig: checkGenerationConfig,
  safetySettings: checkSafety,
  cachedContent: stringField('cachedContent'),
  labels: objectField('labels'),
  serviceTier: stringField('serviceTier'),
}
/** By name in both spellings; they also judge the request that `countTokens` may hold. */
export const generateChecks = checksOf(checks)

const missingContents = '`contents` is missing; send [{"role": "user", "parts": [{"text": ...}]}]'

/** The model stands in the path, and so does whether the answer is streamed. */
export function inspectGenerate(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, generateChecks, list)
  checkSpelling(Object.fromEntries(body.names().map(name => [name, true])), [], list)
  // Of large contents only the presence is known.
  if (!body.has('contents') || (body.sizeOf('contents') <= 4 && readField(body, 'contents') === null)) {
    const remedy = body.has('messages') ? '; this is an OpenAI body (`messages`): send it to /v1/chat/completions' : ''
    list.add(['contents'], missingContents + remedy, 'missing')
  }
  return { model: '', stream: false, endUser: '', problems: list.problems }
}

/** A whole request inside another one (`countTokens`). */
export function checkGenerateFields(fields: Fields, problems: ProblemList): void {
  checkSpelling(fields, [], problems)
  for (const [name, value] of Object.entries(fields))
    if (value !== null && !problems.full) generateChecks.get(name)?.(value, problems)
  if (fields.contents == null) problems.add(['contents'], missingContents, 'missing')
}
