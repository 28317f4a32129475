/** The fields of a `generateContent` body with their checks (ai.google.dev/api/generate-content). */
import type { ChatRequest } from '../../core/hub/chat.ts'
import * as type from '../../core/dialects/fields.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { CheckedField, Path, ProblemList } from '../common/field-checks.ts'
import { fieldTable } from '../common/field-table.ts'
import { plainCheck } from '../common/plain-checks.ts'
import { checkContent, checkContents } from './inspect-contents.ts'
import { camel, checkSpelling, entryPath, enumWord, listOrOne, snakeName } from './json-names.ts'

const configPath: Path = ['generationConfig']

/** `generationConfig`. What is not in this table is reported as dropped. */
const configFields: readonly CheckedField<ChatRequest>[] = [
  { name: 'temperature', schema: type.number(0, 2), property: 'temperature' },
  { name: 'topP', schema: type.number(0, 1), property: 'topP' },
  { name: 'topK', schema: type.integer(0), property: 'topK', converted: true },
  { name: 'candidateCount', schema: type.integer(1, 128), property: 'choices' },
  { name: 'maxOutputTokens', schema: type.integer(1), property: 'maxOutputTokens' },
  { name: 'presencePenalty', schema: type.number(-2, 2), property: 'presencePenalty' },
  { name: 'frequencyPenalty', schema: type.number(-2, 2), property: 'frequencyPenalty' },
  { name: 'seed', schema: { type: 'integer' }, property: 'seed' },
  { name: 'logprobs', schema: type.integer(0, 20), property: 'topLogprobs', converted: true },
  { name: 'stopSequences', schema: type.texts, property: 'stop', converted: true, check: checkStops },
  { name: 'responseLogprobs', schema: type.boolean, property: 'logprobs', converted: true },
  {
    name: 'responseMimeType',
    schema: type.text,
    check(value, problems) {
      if (typeof value !== 'string')
        problems.wrong([...configPath, 'responseMimeType'], 'a string such as "application/json"', value)
    },
  },
  { name: 'responseSchema', schema: { type: 'object' }, check: schemaCheck('responseSchema') },
  { name: 'responseJsonSchema', schema: { type: 'object' }, check: schemaCheck('responseJsonSchema') },
  { name: 'thinkingConfig', schema: { type: 'object' }, property: 'reasoning', converted: true, check: checkThinking },
  { name: 'responseModalities', schema: type.anything },
]
/** By names in camelCase only. */
export const configTable = fieldTable(configFields, { within: configPath })

function checkGenerationConfig(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(configPath, 'an object', value)
  checkSpelling(value, configPath, problems)
  const config = camel(value)
  for (const [name, check] of configTable.checks) if (config[name] != null) check(config[name], problems)
}

function checkStops(value: unknown, problems: ProblemList): void {
  if (!(Array.isArray(value) && value.every(stop => typeof stop === 'string')))
    problems.wrong([...configPath, 'stopSequences'], 'an array of strings', value)
}

function schemaCheck(name: string): (value: unknown, problems: ProblemList) => void {
  return (value, problems) => {
    if (!isObject(value)) problems.wrong([...configPath, name], 'an object (a schema)', value)
  }
}

const thinkingPath: Path = [...configPath, 'thinkingConfig']
const checkBudget = plainCheck([...thinkingPath, 'thinkingBudget'], type.integer(-1))

function checkThinking(value: unknown, problems: ProblemList): void {
  if (!isObject(value)) return problems.wrong(thinkingPath, 'an object such as {"thinkingBudget": 1024}', value)
  const { includeThoughts, thinkingBudget, thinkingLevel } = camel(value)
  if (includeThoughts != null && typeof includeThoughts !== 'boolean')
    problems.wrong([...thinkingPath, 'includeThoughts'], 'true or false', includeThoughts)
  if (thinkingBudget != null) checkBudget(thinkingBudget, problems)
  if (thinkingLevel != null && typeof thinkingLevel !== 'string')
    problems.wrong([...thinkingPath, 'thinkingLevel'], '"MINIMAL", "LOW", "MEDIUM" or "HIGH"', thinkingLevel)
}

function checkSystem(value: unknown, problems: ProblemList): void {
  // Its role says nothing: clients write "user", "model" or "system".
  checkContent(isObject(value) ? { ...value, role: undefined } : value, ['systemInstruction'], problems)
}

function checkTools(value: unknown, problems: ProblemList): void {
  const list = listOrOne(value)
  for (let at = 0; at < list.length && !problems.full; at++) {
    const path = entryPath(['tools'], value, at)
    const tool = list[at]
    if (!isObject(tool)) problems.wrong(path, 'an object such as {"functionDeclarations": [...]}', tool)
    else {
      checkSpelling(tool, path, problems)
      const declarations = camel(tool).functionDeclarations
      listOrOne(declarations).forEach((one, index) => {
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
  listOrOne(value).forEach((one, at) => {
    if (!isObject(one))
      problems.wrong(entryPath(['safetySettings'], value, at), 'an object with `category` and `threshold`', one)
  })
}

/** One entry may stand without the brackets of its list (`listOrOne`). */
const oneOrMany = type.anyOf(type.objects, { type: 'object' })

const generateFields: readonly CheckedField<ChatRequest>[] = [
  { name: 'contents', schema: oneOrMany, required: true, check: checkContents },
  { name: 'systemInstruction', schema: { type: 'object' }, check: checkSystem },
  { name: 'tools', schema: oneOrMany, property: 'tools', converted: true, check: checkTools },
  { name: 'toolConfig', schema: { type: 'object' }, property: 'toolChoice', converted: true, check: checkToolConfig },
  { name: 'generationConfig', schema: type.bodySchema(configFields), check: checkGenerationConfig },
  { name: 'safetySettings', schema: oneOrMany, extra: true, check: checkSafety },
  { name: 'cachedContent', schema: type.text },
  { name: 'labels', schema: type.object, extra: true },
  { name: 'serviceTier', schema: type.text, property: 'serviceTier', converted: true },
  { name: 'model', schema: type.anything, description: 'It is not read, as the model stands in the path.' },
]
/** By name in both spellings; they also check the request that `countTokens` may hold. */
export const generateTable = fieldTable(generateFields, { alias: snakeName })
