/**
 * `node bin/bun.mjs scripts/model-rules-page.ts`: writes docs/model-rules.md from the tables of `rules/`. A test
 * compares both.
 */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ChatRule, HostRule, ResponsesRule } from '../rules/chat.ts'
import { bedrockRows } from '../rules/bedrock.ts'
import { claudeBudgets, claudeHostFields, claudeRows } from '../rules/claude.ts'
import type { ClaudeHostField } from '../rules/claude.ts'
import { cohereBudgets, cohereRows } from '../rules/cohere.ts'
import { effortWords } from '../rules/efforts.ts'
import type { EffortBudgets } from '../rules/efforts.ts'
import { geminiBudgets, geminiFetches, geminiHostRules, geminiThinkingRows } from '../rules/gemini.ts'
import type { GeminiThinking } from '../rules/gemini.ts'
import { hostRules } from '../rules/hosts.ts'
import { mistralRows } from '../rules/mistral.ts'
import type { MistralReasoning } from '../rules/mistral.ts'
import { ollamaRows } from '../rules/ollama.ts'
import { openaiRows } from '../rules/openai.ts'
import type { NamedRow, Source } from '../rules/source.ts'

const head = `# What models and hosts refuse

Written by \`node bin/bun.mjs scripts/model-rules-page.ts\` from the tables in \`rules/\`; do not edit it by hand.

A field that the upstream of a call refuses is not sent: it is removed, gets the upstream's name or the nearest of its
words, and what is lost by that is named in the header \`x-proxy-dropped-params\`, whether the call is translated or
forwarded. With \`drop_params: false\` such a call is refused with 422 instead, and nothing is sent. A field that asks
for nothing (\`n: 1\`, \`logprobs: false\`, a temperature of 1 where it is fixed) is left out without a word.

Rows are tried from above; names are matched in lower case. A host or a model without a row is sent everything. Of a
model behind \`azure/...\` the name is \`model_info.base_model\`, or the deployment's. Rules of OpenAI's models count by
these names at OpenAI and Azure alone. A row is a link to the page on which it was read, and the day.
`

const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``
const list = (texts: readonly string[]): string => (texts.length === 0 ? '-' : texts.map(code).join(', '))
const linked = ({ url, readOn }: Source): string => `[${readOn}](${url})`

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return `${[line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')}\n`
}

function named<Row extends NamedRow>(heads: readonly string[], rows: readonly Row[], cells: (row: Row) => string[]) {
  return table(
    ['names', ...heads, 'read'],
    rows.map(row => [code(row.pattern.source), ...cells(row), linked(row.source)]),
  )
}

const efforts = ({ efforts: taken }: ChatRule): string =>
  taken === undefined ? 'any' : taken.length === 0 ? 'refused' : list(taken)

function fields(rule: Pick<HostRule, keyof ChatRule | 'chatEndedOn'>): string {
  const { unsupported = [], onlyAt = {}, rename = {}, words = {}, lists = [], whileReasoning } = rule
  return parts([
    unsupported.length > 0 && list(unsupported),
    ...Object.entries(onlyAt).map(([name, value]) => `${code(name)} but for ${JSON.stringify(value)}`),
    ...Object.entries(rename).map(([name, other]) => `${code(name)} is sent as ${code(other)}`),
    ...Object.entries(words).flatMap(([name, values]) =>
      Object.entries(values).map(([value, other]) => `${code(name)} ${code(value)} is sent as ${code(other)}`),
    ),
    lists.length > 0 && `${list(lists)} only as a list`,
    rule.logprobsAsCount === 'only' && '`logprobs` is sent as the number of `top_logprobs`',
    rule.textContent && 'parts of a content that are all text (they are joined)',
    whileReasoning && `while it reasons ${fields({ source: rule.source, ...whileReasoning })}`,
    rule.schemas === false && '`json_schema` (it goes into the prompt)',
    rule.formatBesideTools === false && '`response_format` beside tools (it goes into the prompt)',
    rule.chatEndedOn !== undefined && `all chats since ${rule.chatEndedOn}: they go by Responses`,
    rule.responses && responsesFields(rule.responses),
  ])
}

const responsesFields = ({ unsupported, efforts: taken, chatFormat, toolChoice, plainInput }: ResponsesRule): string =>
  parts([
    `of Responses ${list(unsupported)}`,
    `of \`reasoning\` all but an effort of ${list(taken)}`,
    chatFormat && '`text` (a schema is sent as `response_format`)',
    toolChoice === false && '`tool_choice` (a named tool is the only one offered)',
    plainInput && 'documents and files',
  ])

const members = ({ messageFields = [], messageRename = {}, toolFields = [] }: ChatRule): string =>
  parts([
    messageFields.length > 0 && list(messageFields),
    ...Object.entries(messageRename).map(([name, other]) => `${code(name)} is sent as ${code(other)}`),
    toolFields.length > 0 && `of tools ${list(toolFields)}`,
  ])

const parts = (texts: readonly (string | false | undefined)[]): string => texts.filter(Boolean).join('; ') || '-'

function hostTable(): string {
  const rows = Object.entries(hostRules).flatMap(([name, { models = [], ...host }]) => [
    ...models.map(row => ({
      name: `${code(name)} ${code(row.pattern.source)}`,
      rule: { efforts: host.efforts, ...row } as ChatRule,
    })),
    { name: code(name), rule: host },
  ])
  return table(
    ['host, model', 'refused fields', 'refused in messages', '`reasoning_effort`', 'read'],
    rows.map(({ name, rule }) => [name, fields(rule), members(rule), efforts(rule), linked(rule.source)]),
  )
}

const level = (thinking: GeminiThinking): string => {
  if (thinking.by === 'nothing') return 'takes no setting'
  const off = thinking.canStop ? '' : '; cannot be switched off'
  return thinking.by === 'level' ? `${list(thinking.levels)}${off}` : `${thinking.min} to ${thinking.max} tokens${off}`
}

const claudeHostRows = Object.entries(claudeHostFields).flatMap(([host, fields]) =>
  Object.entries<ClaudeHostField>(fields).map(([name, field]) => [host, name, field] as const),
)

const takenWhere = ({ models, beta, neutral }: ClaudeHostField): string =>
  parts([
    models && `by ${code(models.source)}`,
    beta !== undefined && `with a beta \`${beta}...\` in \`anthropic_beta\``,
    neutral !== undefined && `left out without a word where it is ${JSON.stringify(neutral)}`,
  ])

const reasons = (reasoning: MistralReasoning): string => {
  if (reasoning.by === 'effort') return list(reasoning.efforts)
  return reasoning.by === 'nothing' ? 'does not reason' : 'always, by `prompt_mode`'
}

const budgets: Readonly<Record<string, EffortBudgets>> = {
  Anthropic: claudeBudgets,
  Cohere: cohereBudgets,
  Google: geminiBudgets,
}

/** The whole page. */
export function modelRulesPage(): string {
  return [
    head,
    `## Hosts with OpenAI's dialect\n\nThe rules of a model come beside those of its host.\n\n${hostTable()}`,
    `## OpenAI's models, also on Azure\n\n${named(['refused fields', '`reasoning_effort`'], openaiRows, row => [
      fields(row),
      efforts(row),
    ])}`,
    `## Claude, at Anthropic, on Bedrock and on Vertex AI\n\n${named(
      ['thinks by', 'kept from thinking by', 'effort', 'forced tools', 'prefill', 'sampling'],
      claudeRows,
      row => [
        list(row.thinking),
        row.off === 'never' ? 'nothing' : row.off === 'omit' ? 'leaving it out' : code(row.off),
        list(row.efforts),
        row.forcedTools,
        row.prefill ? 'yes' : 'no',
        row.sampling,
      ],
    )}`,
    `## Claude's Messages, at other hosts\n\nOf what Anthropic takes. Bedrock has its own dialect.\n\n${table(
      ['host', 'refused field', 'taken', 'read'],
      claudeHostRows.map(([host, name, field]) => [code(host), code(name), takenWhere(field), linked(field.source)]),
    )}`,
    `## Gemini\n\n${named(['thinking'], geminiThinkingRows, row => [level(row.thinking)])}`,
    `## Gemini's \`generateContent\`, at other hosts\n\n${table(
      ['host', 'refused', 'read'],
      Object.entries(geminiHostRules).map(([host, { source }]) => [
        code(host),
        'turns of `contents` without `parts`, which are left out',
        linked(source),
      ]),
    )}`,
    `## Addresses that a host of Gemini fetches\n\nBeside those of Google's own storage.\n\n${table(
      ['host', 'addresses', 'but for the models', 'types', 'read'],
      Object.entries(geminiFetches).map(([host, { pattern, except, mediaTypes, wantsType, source }]) => [
        code(host),
        code(pattern.source),
        except ? code(except.source) : '-',
        `${mediaTypes ? list([...mediaTypes]) : 'all'}${wantsType ? '; the type has to be known' : ''}`,
        linked(source),
      ]),
    )}`,
    `## Mistral\n\n${named(['reasons by'], mistralRows, row => [reasons(row.reasoning)])}`,
    `## Cohere\n\n${named(['takes `thinking`'], cohereRows, row => [row.thinks ? 'yes' : 'no'])}`,
    `## Models on Bedrock but Claude\n\n${named(['effort'], bedrockRows, ({ reasoning }) => [
      reasoning ? `${code(reasoning.by)}: ${list(reasoning.efforts)}` : 'takes no setting',
    ])}`,
    `## Ollama\n\nOther models think or do not.\n\n${named(['`think`'], ollamaRows, row => [
      `${list(row.efforts)}${row.canStop ? '' : '; cannot be switched off'}`,
    ])}`,
    `## Budgets of tokens by the effort\n\nFor models that are set by a budget.\n\n${table(
      ['vendor', ...effortWords],
      Object.entries(budgets).map(([vendor, row]) => [vendor, ...effortWords.map(word => `${row[word] ?? '-'}`)]),
    )}`,
  ].join('\n')
}

if (import.meta.main) writeFileSync(resolve(import.meta.dir, '../docs/model-rules.md'), modelRulesPage())
