/** A conversation that is not kept: it is in the memory of this page, and gone with it. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { withMessage } from '../../api/conversations.ts'
import type { ConversationSettings } from '../../api/conversations.ts'
import type { Chat } from './chat-state.ts'
import { partOf, prepared } from './files.ts'
import type { Attachment, QuestionFile } from './files.ts'
import { factsOfCall, streamAnswer } from './stream.ts'
import { branchTo, isRunning } from './tree.ts'
import type { Message } from './tree.ts'

interface Kept {
  readonly messages: readonly Message[]
  readonly currentId: string | null
  readonly settings: ConversationSettings
}

interface TemporaryChat extends Chat {
  /** Ends what is under way and forgets everything. */
  clear(): void
}

const nothing: Kept = { messages: [], currentId: null, settings: {} }

/** Pages that are not served over https have no `randomUUID`. */
const newId = (): string => crypto.randomUUID?.() ?? String(Math.random())

const newMessage = (parentId: string | null, role: Message['role'], content: Message['content']): Message => ({
  id: newId(),
  parent_id: parentId,
  role,
  status: role === 'user' ? 'completed' : 'running',
  created_at: new Date().toISOString(),
  content,
  problem: null,
})

export function useTemporaryChat(): TemporaryChat {
  const [kept, setKept] = useState(nothing)
  const files = useRef(new Map<string, KeptFile>())
  const running = useRef(new Map<string, AbortController>())
  const stop = useCallback(() => {
    for (const controller of running.current.values()) controller.abort()
  }, [])
  // What is under way ends with the page: an answer that is not read costs all the same.
  useEffect(() => stop, [stop])
  const put = (message: Message) =>
    setKept(now => (now.messages.length === 0 ? now : { ...now, messages: withMessage(now.messages, message) }))
  const answer = (before: readonly Message[], question: Message, models: readonly string[]) => {
    const group = question.id + String(before.length)
    const answers = models.map(model => newMessage(question.id, 'assistant', { text: '', model, group }))
    const messages = [...withMessage(before, question), ...answers]
    setKept(now => ({ ...now, messages, currentId: answers[0]!.id }))
    for (const one of answers) {
      const controller = new AbortController()
      running.current.set(one.id, controller)
      const said = branchTo(messages, question.id).map(step => step.message)
      const body = bodyOf(one, { said, files: files.current, settings: kept.settings })
      void makeAnswer(one, body, controller.signal, put).finally(() => running.current.delete(one.id))
    }
  }
  return {
    title: '',
    ...kept,
    stop,
    async ask({ text, files: given, parentId, models }) {
      const attachments = await Promise.all(given.map(one => keepFile(one, files.current)))
      answer(kept.messages, newMessage(parentId, 'user', { text, attachments }), models)
    },
    async answerAgain(questionId, models) {
      answer(kept.messages, kept.messages.find(one => one.id === questionId)!, models)
    },
    fileUrl: id => files.current.get(id)?.url ?? '',
    show: currentId => setKept(now => ({ ...now, currentId })),
    changeSettings: async settings => setKept(now => ({ ...now, settings })),
    clear() {
      stop()
      for (const { url } of files.current.values()) URL.revokeObjectURL(url)
      files.current.clear()
      setKept(nothing)
    },
  }
}

interface KeptFile {
  readonly named: Attachment
  /** A `blob:` address. */
  readonly url: string
  /** As a model gets it. */
  readonly part: object
}

/** Keeps a file in the page, or finds one of an earlier question. */
async function keepFile(given: QuestionFile, kept: Map<string, KeptFile>): Promise<Attachment> {
  if ('id' in given) return kept.get(given.id)!.named
  const file = await prepared(given.file)
  const id = newId()
  const named = { id, name: file.name, media_type: file.type || 'text/plain', bytes: file.size }
  kept.set(id, { named, url: URL.createObjectURL(file), part: await partOf(file) })
  return named
}

interface Prompt {
  readonly said: readonly Message[]
  readonly files: ReadonlyMap<string, KeptFile>
  readonly settings: ConversationSettings
}

function bodyOf(answer: Message, { said, files, settings }: Prompt): object {
  const { system_prompt, thinking_mode, ...parameters } = settings
  const messages = said
    .filter(one => one.role === 'user' || one.content.text !== '')
    .map(({ role, content: { text, attachments = [] } }) => {
      const parts = attachments.flatMap(({ id }) => files.get(id)?.part ?? [])
      return { role, content: parts.length === 0 ? text : [...parts, ...(text === '' ? [] : [{ type: 'text', text }])] }
    })
  return {
    model: answer.content.model,
    messages: system_prompt ? [{ role: 'system', content: system_prompt }, ...messages] : messages,
    ...parameters,
    ...(thinking_mode && { chat_template_kwargs: { thinking_mode } }),
  }
}

/** Shows the answer as it comes, and how it ended. Never rejects. */
async function makeAnswer(
  begun: Message,
  body: object,
  signal: AbortSignal,
  put: (message: Message) => void,
): Promise<void> {
  const startedMs = performance.now()
  let message = begun
  const change = (content: Partial<Message['content']>, status: Message['status'] = message.status) => {
    message = { ...message, status, content: { ...message.content, ...content } }
    put(message)
  }
  const ending = await streamAnswer(body, signal, next => change(next(message.content))).then(
    () => ({ status: 'completed' as const, error: undefined }),
    (error: unknown) =>
      signal.aborted ? { status: 'stopped' as const } : { status: 'failed' as const, error: errorOf(error) },
  )
  const { status, ...more } = ending
  change({ ...more, duration_ms: Math.round(performance.now() - startedMs) }, status)
  if (!isRunning(message)) change(await factsOfCall(message.content.call_id).catch(() => ({})))
}

function errorOf(error: unknown): NonNullable<Message['content']['error']> {
  if (!(error instanceof ApiError)) return { code: 'cut', message: error instanceof Error ? error.message : '' }
  const { code, original: message, retryAtMs } = error
  return { code: code ?? '', message, ...(retryAtMs !== null && { retry_at: new Date(retryAtMs).toISOString() }) }
}
