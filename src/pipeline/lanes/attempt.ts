/** One attempt at one deployment: which lane, what is sent, and how the answer is read. */
import type { Call, RunningCall } from '../../core/call.ts'
import { headOf } from '../../core/target-cache.ts'
import { nativeProfile } from '../../core/deployment.ts'
import type { Deployment, ModelProfile } from '../../core/deployment.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import { withoutCallSignatures } from '../../core/dialects/call-signature.ts'
import { routingFields } from '../../core/dialects/field-names.ts'
import { restrictingPart, restricts } from '../../core/dialects/request-restrictions.ts'
import { withDefaults } from '../../core/dialects/default-fields.ts'
import { markedFields, withMarks } from '../../core/dialects/prompt-marks.ts'
import type { PromptMarks } from '../../core/dialects/prompt-marks.ts'
import { noFieldRules } from '../../core/dialects/field-rules.ts'
import type { FieldRules } from '../../core/dialects/field-rules.ts'
import type { ChatFormat, Format } from '../../core/format.ts'
import type { ChatAdapter, Target } from '../../core/provider.ts'
import { emulate, needsNoEmulation, moderationsByGuard } from '../../emulation/index.ts'
import { framingMediaTypes } from '../../lib/frame-splitter.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { Edit } from '../../lib/json/json-body.ts'
import type { CallPolicies } from '../admission/admission.ts'
import { editedForm } from '../upstream/form.ts'
import { changedFields, editedRequest, formEdits } from '../call-input.ts'
import { endRequest, recordUnusableAnswer, recordUsage } from '../settlement/usage.ts'
import { outgoingRequest } from './attempt-parts.ts'
import type { PlannedAttempt, Plan, Withheld } from './attempt-parts.ts'
import { answerFilters, filteredFormat } from './filtered-format.ts'
import { withChangedTexts } from './answer-texts.ts'
import { chatRoute, needsTranslation, withHeaders } from './chat-api.ts'
import { withLocalAnswer } from './local-ids-answer.ts'
import { GatheredSeries, PromptSeries, SeriesRelay } from './prompt-series.ts'
import { CheckedRelay, JsonDialogue, validatedAnswer, validatedLate } from './structured-output.ts'
import type { JsonQuestion } from './structured-output.ts'
import { encodeAnswer, readAnswer, TranslatedRelay } from './translate.ts'
import type { TranslatedStream } from './translate.ts'
import { embeddingsAttempt, speechAttempt, unaryAttempt } from './unary-attempt.ts'
import { exactNames, exactText } from '../../lib/json/exact-json.ts'

const developerRole = /"role"\s*:\s*"developer"/

/**
 * Plans the call of `deployment`: on the forward lane, unless the model needs emulation or a policy reads the answer or
 * has changed the request. Throws GatewayError when the deployment cannot serve this call.
 */
export function planAttempt(call: Call, deployment: Deployment, policies: CallPolicies): PlannedAttempt {
  const { overrides } = call
  const withheld = withheldFields(call, deployment)
  const planned = plannedAttempt({ call, deployment, policies, withheld, body: sentBody(call, deployment, withheld) })
  const attempt = withDropped(
    call.namedFiles ? withLocalAnswer(planned, call.namedFiles.localIds) : planned,
    overrides.unfulfilled,
    withheld.dropped,
  )
  if (attempt.dropped.length > 0) checkLoss(attempt.dropped, call, deployment)
  return deployment.validatesSchemas ? validatedAttempt(call, attempt) : attempt
}

function withDropped(
  attempt: PlannedAttempt,
  unfulfilled: readonly string[],
  withheld: readonly string[],
): PlannedAttempt {
  if (unfulfilled.length === 0 && withheld.length === 0) return attempt
  return { ...attempt, dropped: [...attempt.dropped, ...unfulfilled, ...withheld] }
}

function validatedAttempt(call: Call, attempt: PlannedAttempt): PlannedAttempt {
  const format = call.format!
  const strict = !call.stream && 'strictSchema' in format ? format.strictSchema : undefined
  if (!strict || !call.body!.has(strict.field)) return attempt
  const { late } = attempt
  if (late) return { ...attempt, late: validatedLate(call, strict, late) }
  const answer = validatedAnswer(call, strict, attempt.answer)
  return answer ? { ...attempt, answer } : attempt
}

function plannedAttempt(plan: Plan): PlannedAttempt {
  const { call, policies } = plan
  const format = call.format!
  const filters = 'writer' in format && policies.answer.length > 0 ? answerFilters(policies, call) : undefined
  const filtered = filters && 'writer' in format ? filteredFormat(format, filters) : undefined
  const client = filtered?.format ?? format
  const attempt =
    emulatedAttempt(plan, client) ??
    (filters ? undefined : forwardAttempt(plan, client)) ??
    translateAttempt(plan, client)
  if (attempt && filtered?.late) return { ...attempt, late: filtered.late }
  if (attempt) return policies.answerTexts.length === 0 ? attempt : withChangedTexts(attempt, call, policies)
  if (filters || call.edits.length > 0) throw unreadable(call.model)
  throw new GatewayError(
    'invalid-request',
    `the model '${call.model}' does not offer ${call.operation}; see GET /v1/models for those that do`,
    { param: 'model' },
  )
}

function unreadable(model: string): GatewayError {
  return new GatewayError(
    'invalid-request',
    `the gateway's policies read or change this call, and the upstream of the model '${model}' is only spoken to in ` +
      "the client's own bytes; use another model, or another API of this gateway",
    { param: 'model' },
  )
}

/**
 * The client's body without the fields withheld and with the deployment's defaults, with the upstream's ids of uploaded
 * files, or texts for token ids.
 */
function sentBody(call: Call, deployment: Deployment, { edits }: Withheld): JsonBody {
  const body = call.namedFiles ? call.namedFiles.bodyFor(deployment) : ownInput(call, deployment)
  // A form is edited itself.
  if (call.upload) return body
  const passed = edits.length === 0 ? body : JsonBody.read(Buffer.concat(body.edited(edits)))
  const { fieldDefaults } = deployment
  return fieldDefaults === undefined ? passed : withDefaults(passed, call.format!.dialect, fieldDefaults)
}

const ownInput = ({ body, textBody }: Call, { target }: Deployment): JsonBody =>
  textBody && target.provider.embedsTextOnly ? textBody : body!

const nameOf = (edit: Edit): string => ('set' in edit ? edit.set : edit.remove)

const nothingWithheld: Withheld = { edits: [], dropped: [] }
const noChanges: readonly Edit[] = []

/** Fields beyond the dialect that the deployment does not let pass; of a form only those that steer the upstream. */
function withheldFields(call: Call, deployment: Deployment): Withheld {
  const own = call.unknownFields.length === 0 ? nothingWithheld : withheldOf(call, deployment)
  return deployment.droppedFields === undefined ? own : withDroppedFields(own, call.body, deployment.droppedFields)
}

/** Those too that the operator keeps from the deployment. */
function withDroppedFields(own: Withheld, body: JsonBody | undefined, fields: readonly string[]): Withheld {
  const withheld = new Set(own.edits.map(nameOf))
  const names = fields.filter(name => body?.has(name) && !withheld.has(name))
  if (names.length === 0) return own
  return { edits: [...own.edits, ...names.map(name => ({ remove: name }))], dropped: [...own.dropped, ...names] }
}

function withheldOf(call: Call, deployment: Deployment): Withheld {
  const { allowedFields, forwardsUnknownFields, restrictions, target } = deployment
  const passes = forwardsUnknownFields || call.upload !== undefined
  const names = call.unknownFields.filter(name => !allowedFields.has(name) && (!passes || routingFields.has(name)))
  if (names.length === 0) return nothingWithheld
  const withheld: Withheld = { edits: [], dropped: [] }
  for (const name of names) {
    const given = target.provider.honours?.includes(name) && call.body ? call.body.get(name) : undefined
    const kept = withOperators(restrictingPart(name, given), restrictions?.[name])
    withheld.edits.push(kept ? { set: name, json: JSON.stringify(kept) } : { remove: name })
    if (!kept) withheld.dropped.push(name)
    else for (const one of Object.keys(given as Json)) if (!(one in kept)) withheld.dropped.push(`${name}.${one}`)
  }
  return withheld
}

/** What both restrict; undefined = they contradict each other, or the client restricts nothing. */
function withOperators(clients: Json | undefined, operators: unknown): Json | undefined {
  if (!clients || !isObject(operators)) return clients
  const differs = Object.keys(clients).some(
    name => name in operators && !Bun.deepEquals(clients[name], operators[name], true),
  )
  return differs ? undefined : { ...clients, ...operators }
}

/** The number of answers, in every dialect: one that is not given is no detail of the others. */
const answerCount = 'n'

/** What the operator drops is no loss, unless it restricts. */
function checkLoss(dropped: readonly string[], { model, body, overrides }: Call, deployment: Deployment): void {
  const drops = overrides.dropParams ?? deployment.dropParams
  const { droppedFields } = deployment
  const lost = droppedFields ? dropped.filter(name => !droppedFields.includes(name)) : dropped
  if (drops === false && lost.length > 0) throw lossRefused(lost, model)
  const restricting = dropped.filter(path => restricts(path, field => (body?.has(field) ? body.get(field) : undefined)))
  if (restricting.length > 0) throw restrictionRefused(restricting, model)
  if (drops === true || !lost.includes(answerCount)) return
  const msg =
    `\`${answerCount}\`: the model '${model}' gives one answer to a call; send the call once for each answer, ` +
    'or with `drop_params: true` for one'
  throw unprocessable([{ loc: ['body', answerCount], msg, type: 'unsupported' }])
}

function restrictionRefused(fields: readonly string[], model: string): GatewayError {
  return unprocessable(
    fields.map(name => ({
      loc: ['body', ...name.split('.')],
      msg:
        `restricts how the call is served, which the upstream of the model '${model}' cannot be told; leave it out, ` +
        'or use a model whose upstream honours it',
      type: 'unsupported',
    })),
  )
}

function lossRefused(dropped: readonly string[], model: string): GatewayError {
  return new GatewayError(
    'unprocessable',
    `the model '${model}' does not take ${dropped.join(', ')}; leave them out, or allow drop_params`,
    {
      param: dropped[0],
      problems: dropped.map(name => ({
        loc: ['body', name],
        msg: `not supported by the model '${model}'`,
        type: 'unsupported',
      })),
    },
  )
}

function forwardAttempt({ call, deployment, body: whole, withheld }: Plan, format: Format): PlannedAttempt | undefined {
  const { target } = deployment
  const { provider } = target
  const makeHead = provider.speaks[format.dialect]
  if (!makeHead || provider.forwards?.(target, format.dialect) === false) return undefined
  if (needsTranslation(deployment, format.dialect, whole)) return undefined
  const rules = provider.rules?.(target, format.dialect) ?? noFieldRules
  if (provider.chat && (call.misplacedMedia || mustBeTranslated(rules, whole))) return undefined
  const body = 'writer' in format && !rules.readsCallSignatures ? withoutCallSignatures(whole) : whole
  const changed = call.edits.length === 0 || call.upload ? noChanges : changedFields(call, body)
  if (!changed) return undefined
  const { edits: formatEdits, dropped } = format.forward.edits(body, rules)
  if (changed.length > 0) formatEdits.push(...changed)
  if (deployment.promptMarks && format.dialect === 'anthropic-messages' && changed.length === 0)
    formatEdits.push(...markEdits(body, deployment.promptMarks))
  removeNulls(formatEdits, body)
  const edits = format.forward.modelInPath ? formatEdits : withModel(formatEdits, target.model, body)
  const form = call.upload && editedForm(call.upload, [...formEdits(call), ...edits, ...withheld.edits])
  const publicModel = call.model
  return {
    head: withHeaders(
      headOf(target, makeHead, call.stream),
      form ? { ...call.forwardedHeaders, 'content-type': form.contentType } : call.forwardedHeaders,
    ),
    streamTypes: format.forward.streamTypes ?? framingMediaTypes.sse,
    body: form ? form.body : body.edited(edits),
    streamed: format.operation === 'speech',
    dropped,
    answer: (bytes, head) => format.forward.answer(bytes, publicModel, head, body),
    relay: contentType => format.forward.relay(publicModel, body, contentType),
  }
}

const promptNames = exactNames('input', 'input_schema')
const markField = 'cache_control'

/** The client's prompt with the marks of the deployment, unless it is changed otherwise. */
function markEdits(body: JsonBody, marks: PromptMarks): Edit[] {
  const read = (name: string) => body.exact(name, promptNames) ?? body.get(name)
  const prompt = { system: read('system'), messages: read('messages'), tools: read('tools') }
  if (body.has(markField)) return []
  return Object.entries(markedFields(prompt, marks)).map(([set, value]) => ({ set, json: exactText(value) }))
}

/** Null says of an optional field that it is not given, as its absence does; some hosts take only the latter. */
function removeNulls(edits: Edit[], body: JsonBody): void {
  for (const name of body.names()) {
    if (body.sizeOf(name) !== 4 || body.beginningOf(name, 4) !== 'null' || name === 'model') continue
    if (!edits.some(edit => ('set' in edit ? edit.set : edit.remove) === name)) edits.push({ remove: name })
  }
}

function withModel(edits: Edit[], model: string, body: JsonBody): Edit[] {
  if (!body.has('model') || body.get('model') !== model) edits.push({ set: 'model', json: JSON.stringify(model) })
  return edits
}

/** The upstream takes what the client says in other words only, which the translation finds. */
function mustBeTranslated({ noDeveloperRole, textContent, translated }: FieldRules, body: JsonBody): boolean {
  if (translated) for (const name of translated) if (body.has(name)) return true
  if (textContent && textParts.test(body.rawText('messages') ?? '')) return true
  return noDeveloperRole === true && mentionsDeveloper(body)
}

/** The beginning of a list of parts, in a message or in a text that looks like one: then nothing is lost, either. */
const textParts = /"content"\s*:\s*\[/

/** Only small bodies are searched; in a large one the upstream refuses the role itself. */
function mentionsDeveloper(body: JsonBody): boolean {
  return body.sizeOf('messages') <= 256 * 1024 && developerRole.test(body.rawText('messages') ?? '')
}

function translateAttempt(plan: Plan, format: Format): PlannedAttempt | undefined {
  if ('writer' in format) return chatAttempt(plan, format)
  if ('multipart' in format) return undefined
  const { provider } = plan.deployment.target
  switch (format.operation) {
    case 'speech':
      return speechAttempt(plan, format)
    case 'embeddings':
      return embeddingsAttempt(plan, format, provider.embeddings)
    case 'rerank':
      return unaryAttempt(plan, format, provider.rerank)
    case 'moderations':
      return unaryAttempt(plan, format, provider.moderations)
    case 'images':
      return unaryAttempt(plan, format, provider.images)
    case 'count-tokens':
      return unaryAttempt(plan, format, provider.countTokens)
  }
}

function chatAttempt({ call, deployment, body }: Plan, format: ChatFormat): PlannedAttempt | undefined {
  const { target } = deployment
  if (!target.provider.chat) return undefined
  const decoded = editedRequest(call, body, format.decode)
  const { promptMarks } = deployment
  const asked = promptMarks ? withMarks(decoded, promptMarks) : decoded
  const route = chatRoute(deployment, asked, call.forwardedHeaders)
  if (!route) return undefined
  const { adapter, request } = route
  const attempt = translatedAttempt(call, { adapter, request, format, publicModel: call.model }, target)
  // An upstream that knows no marks is not sent those of the operator, and the client has lost nothing.
  return asked === decoded ? attempt : { ...attempt, dropped: attempt.dropped.filter(name => name !== markField) }
}

function translatedAttempt(call: Call, stream: TranslatedStream, target: Target): PlannedAttempt {
  const { adapter, request } = stream
  if (request.series) return seriesAttempt(call, stream, target)
  const { head, body, dropped } = outgoingRequest(adapter.request(request, target), request)
  return {
    head,
    body,
    dropped,
    streamTypes: framingMediaTypes[adapter.framing ?? 'sse'],
    answer(bytes) {
      const { events, state } = readAnswer(adapter, bytes)
      // Recorded first: it is billed also when a policy refuses the answer.
      recordUsage(call, state.usage, state.answeredModel)
      return { body: encodeAnswer(stream, events), usage: state.usage }
    },
    relay: () => new TranslatedRelay(stream),
  }
}

/** One of several answers of an attempt. Each is billed, so its usage is recorded as it arrives. */
function readSeveral(call: RunningCall, adapter: ChatAdapter, bytes: Uint8Array): ReturnType<typeof readAnswer> {
  try {
    const read = readAnswer(adapter, bytes)
    recordUsage(call, read.state.usage)
    call.attempt!.answerCharacters = read.state.contentCharacters
    return read
  } catch (thrown) {
    recordUnusableAnswer(call, bytes, thrown)
    throw thrown
  }
}

/** The same relay reads the stream of the next request. */
function nextStream(call: RunningCall): void {
  const { relay } = call.attempt!
  endRequest(call, true)
  call.attempt!.relay = relay
}

/** For several prompts, with an answer for each. */
function seriesAttempt(call: Call, stream: TranslatedStream, target: Target): PlannedAttempt {
  const { adapter, request } = stream
  const series = new PromptSeries(stream, target)
  const gathered = new GatheredSeries(series)
  const relay = new SeriesRelay(series, () => nextStream(call))
  return {
    ...outgoingRequest(series.call(), request),
    streamTypes: framingMediaTypes[adapter.framing ?? 'sse'],
    check: {
      isSeries: true,
      whole(bytes) {
        const { events, state } = readSeveral(call, adapter, bytes)
        const next = gathered.take(events, state.usage)
        if (next) endRequest(call, true)
        return next && outgoingRequest(next)
      },
      isOver: () => relay.isOver,
      endsInMs: () => relay.endsInMs,
      steps: () => relay.steps,
      streamed() {
        const next = relay.ended()
        return next && outgoingRequest(next)
      },
    },
    answer: () => ({ body: gathered.body(), usage: call.attempt!.usage }),
    relay: () => relay,
  }
}

/** What the model supports of such a call: some take no format beside tools. */
function profileFor({ call, deployment, body }: Plan): ModelProfile {
  const { profile, target } = deployment
  if (profile.structuredOutput !== 'native') return profile
  // A policy may have added tools.
  const mayHaveTools = call.edits.length > 0 || body.has('tools') || body.has('functions')
  if (!mayHaveTools || target.provider.takesFormatBesideTools?.(target) !== false) return profile
  return { ...profile, structuredOutput: 'none' }
}

/**
 * The attempt with emulation for this model; undefined = it supports everything that the call needs.
 */
function emulatedAttempt(plan: Plan, format: Format): PlannedAttempt | undefined {
  const { call, deployment, body } = plan
  const { target } = deployment
  const profile = profileFor(plan)
  if (profile === nativeProfile) return undefined
  const { chat, speaks } = target.provider
  if (!chat) return undefined
  if (!('writer' in format))
    return profile.guard && format.operation === 'moderations'
      ? unaryAttempt(plan, format, moderationsByGuard(chat))
      : undefined
  // Text completions of the host itself are raw text, which is returned unchanged.
  if (format.operation === 'completions' && speaks[format.dialect]) return undefined
  if (call.edits.length === 0 && needsNoEmulation(profile, body)) return undefined
  const route = chatRoute(deployment, editedRequest(call, body, format.decode), call.forwardedHeaders)
  const withTools = (route?.request.tools?.length ?? 0) > 0
  const emulated = route && emulate(route.adapter, withTools ? profile : deployment.profile, route.request)
  if (!emulated) return undefined
  const { adapter, outputSchema } = emulated
  const { request } = route
  const stream = { adapter, format, request, publicModel: call.model }
  return outputSchema
    ? checkedAttempt(call, { ...stream, target, outputSchema })
    : translatedAttempt(call, stream, target)
}

/** May need several answers. */
function checkedAttempt(call: Call, question: JsonQuestion): PlannedAttempt {
  const { adapter, format, publicModel, request } = question
  const dialogue = new JsonDialogue(question)
  const relay = new CheckedRelay(dialogue, () => nextStream(call))
  return {
    ...outgoingRequest(dialogue.call(), request),
    streamTypes: framingMediaTypes[adapter.framing ?? 'sse'],
    check: {
      isSeries: false,
      whole(bytes) {
        const { events } = readSeveral(call, adapter, bytes)
        if (dialogue.accepts(events)) return undefined
        endRequest(call, true)
        return outgoingRequest(dialogue.call())
      },
      isOver: () => relay.isOver,
      endsInMs: () => relay.endsInMs,
      steps: () => relay.steps,
      streamed() {
        const again = relay.ended()
        return again && outgoingRequest(again)
      },
    },
    answer: () => ({
      body: exactText(format.encode(dialogue.events, publicModel, request)),
      usage: call.attempt!.usage,
    }),
    relay: () => relay,
  }
}

/**
 * A line of a batch's input file with the changes of the policies, as the upstream of `deployment` reads it. Only chat
 * completions can be encoded again. Throws `invalid-request` for others that a policy has changed.
 */
export function lineBody(line: Call, deployment: Deployment): JsonBody {
  const { target } = deployment
  const { format } = line
  const withheld = withheldFields(line, deployment)
  // There is no answer in which the loss could be named.
  if (withheld.edits.length > 0) throw lossRefused(withheld.edits.map(nameOf), line.model)
  if (line.edits.length === 0) return line.body!
  if (format?.dialect === 'openai-chat' && 'writer' in format && target.provider.speaks['openai-chat']) {
    const adapter = target.provider.chat
    const request = editedRequest(line, line.body!, format.decode)
    const translated = adapter?.request(request, target)
    if (translated && translated.dropped.length === 0)
      return JsonBody.read(Buffer.from(exactText(translated.body), 'utf8'))
  }
  throw new GatewayError(
    'invalid-request',
    `the gateway's policies change this request, which cannot be done in a batch of ${line.route}; send it as a call ` +
      'of its own',
  )
}
