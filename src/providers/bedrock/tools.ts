/** Tools as Converse's `toolConfig` (docs.aws.amazon.com/bedrock, "ToolConfiguration"). */
import type { CacheControl, ChatRequest, Tool } from '../../core/hub/chat.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { outputSchema } from '../anthropic/schema.ts'
import { answerTool } from '../anthropic/structured.ts'
import type { BedrockModel } from './model.ts'
import type { JsonPlan } from './structured.ts'

interface ToolContext {
  readonly model: BedrockModel
  readonly plan: JsonPlan
  /** Tools in the conversation: Converse refuses calls and results in a request without declared tools. */
  readonly usedTools: ReadonlySet<string>
  readonly dropped: string[]
}

/** Undefined = no tools. */
export function toolConfig(request: ChatRequest, context: ToolContext): Json | undefined {
  const { model, plan } = context
  if (plan.tool)
    return { tools: [plan.tool], toolChoice: model.forces === 'tool' ? { tool: { name: answerTool } } : { any: {} } }
  const offered = offeredTools(request, context)
  if (offered.length === 0) return undefined
  const toolChoice = choiceOf(request, context)
  return { tools: offered.flatMap(tool => toolBlocks(tool, context)), ...(toolChoice && { toolChoice }) }
}

/**
 * What keeps Claude to one call at a time, for `additionalModelRequestFields`: Converse has no field for it. `tools` is
 * the request's `toolConfig`. Beside a `toolChoice` of Converse the service answers 400, and without `type` as well
 * (github.com/BerriAI/litellm, issue 36536 and pull request 34347, whose body of this form the service took).
 */
export function singleCallField(request: ChatRequest, tools: Json | undefined, context: ToolContext): Json {
  const { model, plan, dropped } = context
  if (request.parallelToolCalls !== false || !tools || plan.tool) return {}
  // Known of Claude 4.5 and later, which are those with structured output.
  if (model.claude?.outputSchema && !tools.toolChoice && request.toolChoice !== 'none')
    return { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }
  dropped.push('parallel_tool_calls')
  return {}
}

function offeredTools(request: ChatRequest, { model, usedTools }: ToolContext): Tool[] {
  const { tools = [], toolChoice: choice } = request
  // Where the model cannot be forced to a named tool, only that tool is declared.
  if (typeof choice === 'object' && model.forces !== 'tool') return tools.filter(tool => tool.name === choice.name)
  if (tools.length > 0 && choice !== 'none') return tools
  return [...usedTools].map(name => tools.find(tool => tool.name === name) ?? { name })
}

function choiceOf({ tools, toolChoice: choice }: ChatRequest, { model, dropped }: ToolContext): Json | undefined {
  if (choice === undefined || choice === 'auto') return undefined
  if (choice === 'none') {
    // Converse has no `none`, and tools must stay declared for the history.
    if (tools && tools.length > 0) dropped.push('tool_choice')
    return undefined
  }
  if (model.forces === 'nothing') {
    dropped.push('tool_choice')
    return undefined
  }
  return typeof choice === 'object' && model.forces === 'tool' ? { tool: { name: choice.name } } : { any: {} }
}

function toolBlocks({ name, description, parameters, strict, cache }: Tool, { model, dropped }: ToolContext): Json[] {
  const enforced = strict === true && model.jsonSchema
  if (strict && !enforced) dropped.push('tools.function.strict')
  const whole = { type: 'object', properties: {}, ...parameters }
  const { schema, lost } = enforced ? outputSchema(whole) : { schema: whole, lost: [] }
  dropped.push(...lost.map(keyword => `tools.function.parameters.${keyword}`))
  const toolSpec = {
    name,
    ...(description && { description }),
    inputSchema: { json: schema },
    ...(enforced && { strict: true }),
  }
  return [{ toolSpec }, ...cachePoint(cache, model, { allowed: model.caches.tools, dropped })]
}

/** The cache point to put after a block; empty = none is requested or allowed. */
export function cachePoint(
  cache: CacheControl | undefined,
  { caches }: BedrockModel,
  { allowed, dropped }: { allowed: boolean; dropped: string[] },
): Json[] {
  if (!cache) return []
  if (!allowed) {
    dropped.push('cache_control')
    return []
  }
  if (cache.ttl === '1h' && !caches.oneHour) dropped.push('cache_control.ttl')
  return [{ cachePoint: { type: 'default', ...(cache.ttl === '1h' && caches.oneHour && { ttl: '1h' }) } }]
}
