/** Decodes a `generateContent` request into hub types. */
import type { ChatRequest, ReasoningEffort, ResponseFormat, Tool, ToolChoice } from '../../core/hub/chat.ts'
import { reasoningEfforts } from '../../core/hub/chat-fields.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { parseChecked, shown } from '../common/field-checks.ts'
import type { ExactFields } from '../common/field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { readFields } from '../common/field-table.ts'
import { untranslatable } from '../common/untranslatable.ts'
import { decodeContents, decodeSystem } from './decode-contents.ts'
import { configTable, generateTable } from './fields.ts'
import { jsonSchemaOf } from './schema.ts'
import { camel, enumWord, listOrOne, objectsOrOne } from './json-names.ts'
import { exactNames } from '../../lib/json/exact-json.ts'

const answerSchemas = exactNames('responseSchema', 'responseJsonSchema', 'response_schema', 'response_json_schema')
/** What the client's tools and its model wrote. */
const exactFields: ExactFields = [
  ['contents', exactNames('args', 'response')],
  ['tools', exactNames('parameters', 'parametersJsonSchema', 'parameters_json_schema')],
  ['generationConfig', answerSchemas],
  ['generation_config', answerSchemas],
]

/** Marks requests whose client wants to see thoughts. A symbol is copied with the request and never becomes JSON. */
const wantsThoughts = Symbol('wants thoughts')

interface MarkedRequest extends ChatRequest {
  [wantsThoughts]?: true
}

/** Gemini shows thoughts only to those who ask (`includeThoughts`). */
export function showsThoughts(request: ChatRequest): boolean {
  return (request as MarkedRequest)[wantsThoughts] === true
}

/** Throws `unprocessable` for what this dialect allows and no other vendor has. */
export function decodeGenerate(body: JsonBody): ChatRequest {
  return decodeFields(parseChecked(body, exactFields))
}

/** The same for a request that is part of another one. Only for fields that passed the inspection. */
export function decodeFields(fields: Json): ChatRequest {
  const { contents, systemInstruction, cachedContent, serviceTier, tools, toolConfig, generationConfig } = camel(fields)
  if (cachedContent != null && cachedContent !== '')
    throw untranslatable(['cachedContent'], 'the cached content lies at Google, and other models cannot read it')
  const { messages, dropped: lost } = decodeContents(contents)
  const dropped = new Set(lost)
  const system = isObject(systemInstruction) ? decodeSystem(systemInstruction) : undefined
  const request: MarkedRequest = {
    model: '',
    messages: system ? [system, ...messages] : messages,
    stream: false,
    includeUsage: true,
    extra: { format: 'gemini-generate', fields: {} },
  }
  readFields(fields, generateTable, request, request.extra.fields)
  request.extra.fields = camel(request.extra.fields)
  const tier = typeof serviceTier === 'string' ? serviceTier.toLowerCase() : ''
  if (tier !== '' && tier !== 'unspecified') request.serviceTier = tier === 'standard' ? 'default' : tier
  if (isObject(generationConfig)) readConfig(camel(generationConfig), request, dropped)
  readTools(tools, request, dropped)
  if (isObject(toolConfig)) readToolConfig(camel(toolConfig), request, dropped)
  if (dropped.size > 0) request.dropped = [...dropped]
  return request
}

function readConfig(config: Json, request: MarkedRequest, dropped: Set<string>): void {
  readFields(config, configTable, request)
  const { topK, responseLogprobs, logprobs } = config
  const converted: Partial<ChatRequest> = {
    // 0 = off.
    topK: typeof topK === 'number' && topK > 0 ? topK : undefined,
    logprobs: responseLogprobs === true ? true : undefined,
    topLogprobs: responseLogprobs === true && typeof logprobs === 'number' ? logprobs : undefined,
    stop:
      Array.isArray(config.stopSequences) && config.stopSequences.length > 0
        ? (config.stopSequences as string[])
        : undefined,
    responseFormat: responseFormat(config),
    reasoning: isObject(config.thinkingConfig)
      ? readThinking(camel(config.thinkingConfig), request, dropped)
      : undefined,
  }
  setPresent(request, converted)
  const modalities = listOrOne(config.responseModalities).map(enumWord)
  if (modalities.some(word => word !== 'TEXT')) dropped.add('generationConfig.responseModalities')
  for (const name of Object.keys(config))
    if (!configTable.uses.has(name) && config[name] != null) dropped.add(`generationConfig.${name}`)
}

/** Fields that are absent stay absent: providers ask for presence. */
function setPresent<T extends object>(into: T, values: Partial<T>): void {
  for (const name of Object.keys(values) as (keyof T)[])
    if (values[name] !== undefined) into[name] = values[name] as T[keyof T]
}

function responseFormat({ responseMimeType, responseSchema, responseJsonSchema }: Json): ResponseFormat | undefined {
  const openapi = isObject(responseSchema) ? jsonSchemaOf(responseSchema) : undefined
  const schema = isObject(responseJsonSchema) ? responseJsonSchema : openapi
  if (responseMimeType == null || responseMimeType === '' || responseMimeType === 'text/plain') {
    if (!schema) return undefined
    throw untranslatable(
      ['generationConfig', 'responseMimeType'],
      'a response schema needs the response type "application/json"',
    )
  }
  if (responseMimeType !== 'application/json')
    throw untranslatable(
      ['generationConfig', 'responseMimeType'],
      `the response type ${shown(responseMimeType)} cannot be translated`,
    )
  return schema ? { type: 'json-schema', name: 'response', schema } : { type: 'json-object' }
}

const efforts: ReadonlyMap<string, ReasoningEffort> = new Map(
  reasoningEfforts.filter(word => word !== 'none').map(word => [word.toUpperCase(), word]),
)
/** The model decides how much it thinks. */
const dynamicBudget = -1

/** A level counts before a budget. */
function readThinking(thinking: Json, request: MarkedRequest, dropped: Set<string>): ChatRequest['reasoning'] {
  const { includeThoughts, thinkingBudget, thinkingLevel } = thinking
  if (includeThoughts === true) request[wantsThoughts] = true
  const word = enumWord(thinkingLevel)
  const effort = efforts.get(word)
  const path = 'generationConfig.thinkingConfig'
  if (effort) {
    if (thinkingBudget != null) dropped.add(`${path}.thinkingBudget`)
    return { effort }
  }
  if (word !== '' && word !== 'THINKING_LEVEL_UNSPECIFIED') dropped.add(`${path}.thinkingLevel`)
  if (thinkingBudget === 0) return { enabled: false }
  if (typeof thinkingBudget === 'number' && thinkingBudget !== dynamicBudget) return { budgetTokens: thinkingBudget }
  return includeThoughts === true || thinkingBudget === dynamicBudget ? { enabled: true } : undefined
}

function readTools(value: unknown, request: ChatRequest, dropped: Set<string>): void {
  const tools: Tool[] = []
  for (const tool of objectsOrOne(value).map(camel))
    for (const [kind, one] of Object.entries(tool)) {
      if (kind === 'functionDeclarations')
        for (const declaration of objectsOrOne(one)) tools.push(readDeclaration(camel(declaration), dropped))
      // What Google runs itself (search, code, maps) no other vendor offers.
      else if (one != null) dropped.add(`tools.${kind}`)
    }
  if (tools.length > 0) request.tools = tools
}

function readDeclaration(
  { name, description, parameters, parametersJsonSchema, ...others }: Json,
  dropped: Set<string>,
): Tool {
  for (const [other, value] of Object.entries(others))
    if (value != null) dropped.add(`tools.functionDeclarations.${other}`)
  const tool: Tool = { name: name as string }
  if (typeof description === 'string') tool.description = description
  if (isObject(parametersJsonSchema)) tool.parameters = parametersJsonSchema
  else if (isObject(parameters)) tool.parameters = jsonSchemaOf(parameters)
  return tool
}

function readToolConfig({ functionCallingConfig, ...others }: Json, request: ChatRequest, dropped: Set<string>): void {
  for (const [other, value] of Object.entries(others)) if (value != null) dropped.add(`toolConfig.${other}`)
  if (!isObject(functionCallingConfig) || !request.tools) return
  const { mode, allowedFunctionNames, ...rest } = camel(functionCallingConfig)
  for (const [other, value] of Object.entries(rest))
    if (value != null) dropped.add(`toolConfig.functionCallingConfig.${other}`)
  const word = enumWord(mode)
  // Others do not promise that a call fits its schema.
  if (word === 'VALIDATED') dropped.add('toolConfig.functionCallingConfig.mode')
  const choice = toolChoice(word)
  if (choice) request.toolChoice = choice
  const allowed = new Set(listOrOne(allowedFunctionNames))
  if (allowed.size === 0 || choice === 'none') return
  const tools = request.tools.filter(tool => allowed.has(tool.name))
  const path = ['toolConfig', 'functionCallingConfig', 'allowedFunctionNames']
  if (tools.length === 0) throw untranslatable(path, 'none of the allowed functions is declared in `tools`')
  request.tools = tools
  if (choice === 'required' && tools.length === 1) request.toolChoice = { name: tools[0]!.name }
}

function toolChoice(mode: string): ToolChoice | undefined {
  if (mode === 'ANY') return 'required'
  if (mode === 'NONE') return 'none'
  return mode === 'AUTO' || mode === 'VALIDATED' ? 'auto' : undefined
}
