import { useQuery } from '@tanstack/react-query'
import clsx from 'clsx'
import type { ReactNode } from 'react'
import { bodiesQuery } from '../../api/calls.ts'
import type { CallBodies, SpendLog } from '../../api/schema.d.ts'
import { CodeBlock } from '../../components/text/code-block.tsx'
import type { Snippet } from '../../components/text/code-block.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../../components/states.tsx'
import { gatewayUrl } from '../../lib/urls.ts'
import { t } from '../logs.page.ts'
import type { StringKey } from '../logs.page.ts'
import { Picture } from '../playground/answer.tsx'
import { copiesOf } from '../playground/copy-as.ts'
import { jsonOf, messagesOf, replayOf } from './call-messages.ts'
import type { Message, Piece, Side } from './call-messages.ts'

interface StoredProps {
  readonly call: SpendLog
  readonly children: (bodies: CallBodies) => ReactNode
}

/** What is stored of a call. It is asked for when it is looked at: to read the calls of others is in the audit log. */
function Stored({ call, children }: StoredProps) {
  const bodies = useQuery(bodiesQuery(call.request_id, call.duration_ms))
  if (bodies.isPending) return <SkeletonRows />
  if (bodies.isError) return <ErrorState error={bodies.error} isInline onRetry={() => void bodies.refetch()} />
  if (bodies.data === null) return <EmptyState title={t('logs.notStored')}>{t('logs.notStoredHelp')}</EmptyState>
  if (bodies.data.problem) return <EmptyState title={t('logs.unreadable')}>{bodies.data.problem}</EmptyState>
  return <>{children(bodies.data)}</>
}

/** The conversation of a call. */
export function MessagesTab({ call }: { readonly call: SpendLog }) {
  return <Stored call={call}>{bodies => <Conversation call={call} bodies={bodies} />}</Stored>
}

function Conversation({ call, bodies }: { readonly call: SpendLog; readonly bodies: CallBodies }) {
  const { request, response } = bodies
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {request?.changed_by_policies && <p className="text-muted">{t('logs.changedByPolicies')}</p>}
      {messagesOf(call, bodies).map((message, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: what was said does not change
        <Bubble key={at} message={message} />
      ))}
      <Rest label={t('logs.request')} side={request} />
      <Rest label={t('logs.response')} side={response} />
      {response === null && <p className="text-muted">{t('logs.noAnswer')}</p>}
    </div>
  )
}

/** Of a side that cannot be shown as messages: its text as it is, or why it is not there. */
function Rest({ label, side }: { readonly label: string; readonly side: Side | null }) {
  if (!side) return null
  if (side.omitted) return <p className="text-muted">{t(side.omitted === 'binary' ? 'logs.binary' : 'logs.masked')}</p>
  if (jsonOf(side) !== undefined || side.text === '') return null
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {side.cut && <p className="text-muted">{t('logs.cutBody')}</p>}
      <CodeBlock label={label} snippets={[{ title: label, code: side.text }]} />
    </div>
  )
}

const roles: Readonly<Record<string, StringKey>> = {
  user: 'logs.role.user',
  assistant: 'logs.role.assistant',
  model: 'logs.role.assistant',
  system: 'logs.role.system',
  developer: 'logs.role.system',
  tool: 'logs.role.tool',
  function: 'logs.role.tool',
  error: 'logs.role.error',
}

function Bubble({ message }: { readonly message: Message }) {
  const { role, pieces } = message
  const name = roles[role]
  return (
    <article
      aria-label={name ? t(name) : role}
      className={clsx(
        'flex min-w-0 flex-col gap-2 rounded-panel px-4 py-2',
        role === 'user' ? 'ml-6 bg-hover' : 'mr-6 border border-line',
      )}
    >
      <h3 className={clsx('font-medium', role === 'error' ? 'text-bad' : 'text-muted')}>{name ? t(name) : role}</h3>
      {pieces.map((piece, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: what was said does not change
        <PieceView key={at} piece={piece} />
      ))}
    </article>
  )
}

function PieceView({ piece }: { readonly piece: Piece }) {
  switch (piece.kind) {
    case 'text':
      return <Markdown text={piece.text} />
    case 'thinking':
      return (
        <details className="text-muted">
          <summary>{t('playground.thinking')}</summary>
          <Markdown text={piece.text} />
        </details>
      )
    case 'tool':
      return <Code>{`${piece.name}(${piece.input})`}</Code>
    case 'result':
      return <Code>{piece.text}</Code>
    case 'image':
      return <Picture address={piece.address} />
  }
}

function Code({ children }: { readonly children: string }) {
  return (
    <pre className="rounded-control border border-line p-3 font-mono text-code break-words whitespace-pre-wrap">
      {children}
    </pre>
  )
}

/** Request and answer as they are stored, and the request as a program that sends it again. */
export function BodiesTab({ call }: { readonly call: SpendLog }) {
  return (
    <Stored call={call}>{bodies => <CodeBlock label={t('logs.bodies')} snippets={snippetsOf(call, bodies)} />}</Stored>
  )
}

function snippetsOf(call: SpendLog, bodies: CallBodies): Snippet[] {
  const { request, response } = bodies
  const replay = replayOf(call, bodies)
  const pretty = (side: Side) => {
    const json = jsonOf(side)
    return json === undefined ? side.text : JSON.stringify(json, undefined, 2)
  }
  return [
    ...(request ? [{ title: t('logs.request'), code: pretty(request) }] : []),
    ...(response ? [{ title: t('logs.response'), code: pretty(response) }] : []),
    ...(request ? [{ title: t('logs.headers'), code: JSON.stringify(request.headers, undefined, 2) }] : []),
    ...(replay ? copiesOf({ ...replay, gateway: gatewayUrl, fileName: '' }) : []),
  ]
}
