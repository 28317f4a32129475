import clsx from 'clsx'
import { ArrowDown } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import type { HubModel } from '../../api/model-groups.ts'
import { Button } from '../../components/button.tsx'
import { reportError } from '../../components/report-error.ts'
import { t } from '../chat.page.ts'
import { AnswerView } from './answer.tsx'
import type { Chat } from './chat-state.ts'
import { QuestionView } from './question.tsx'
import { latestBelow } from './tree.ts'
import type { Message, Step } from './tree.ts'
import { Variants } from './variants.tsx'
import { Welcome } from './welcome.tsx'

interface ThreadProps {
  readonly chat: Chat
  readonly steps: readonly Step[]
  readonly models: readonly HubModel[]
  /** Who answers an edited question. */
  readonly chosen: readonly string[]
  readonly isStreaming: boolean
  readonly isTemporary: boolean
  readonly problem: string | null
}

/** The branch that is shown; it follows an answer that grows, unless the person has scrolled away. */
export function Thread(props: ThreadProps) {
  const { chat, steps, isStreaming, isTemporary, problem } = props
  const { place, isAway, follow } = useFollowedEnd(steps)
  const isWide = steps.some(one => one.beside.length > 1)
  const end = steps.at(-1)
  return (
    <div className="relative flex min-h-0 grow flex-col">
      <div ref={place} className="min-h-0 grow overflow-y-auto px-4">
        {steps.length === 0 && <Welcome isTemporary={isTemporary} problem={problem} />}
        <ol
          aria-label={t('chat.messages')}
          className={clsx('mx-auto flex flex-col gap-6 py-4', isWide ? 'max-w-(--comparison)' : 'max-w-reading')}
        >
          {steps.map((step, at) => (
            <li key={step.message.id} className="flex min-w-0 flex-col gap-2">
              <StepView {...props} step={step} before={steps[at - 1]?.message} />
            </li>
          ))}
        </ol>
      </div>
      {isAway && (
        <div className="absolute bottom-2 left-1/2 -translate-x-1/2">
          <Button icon={<ArrowDown size={16} aria-hidden />} aria-label={t('chat.toEnd')} onClick={follow} />
        </div>
      )}
      <p role="status" className="sr-only">
        {end && (isStreaming ? t('chat.answering') : endOf(end.message))}
      </p>
      {chat.messages.length > 0 && isTemporary && (
        <p className="px-4 text-center text-code text-muted">{t('chat.temporary')}</p>
      )}
    </div>
  )
}

/** What a screen reader says of an answer that came to its end, however it did. */
function endOf({ role, status }: Message): string | null {
  if (role === 'user') return null
  if (status === 'completed') return t('chat.answered')
  return t(status === 'stopped' ? 'chat.answerStopped' : 'chat.answerFailed')
}

interface StepProps extends ThreadProps {
  readonly step: Step
  readonly before: Message | undefined
}

function StepView({ chat, step, before, models, chosen, isStreaming }: StepProps) {
  const show = (messageId: string) => chat.show(latestBelow(chat.messages, messageId) ?? messageId)
  const { message, beside } = step
  if (message.role === 'user') {
    const files = (message.content.attachments ?? []).map(({ id }) => ({ id }))
    const edit = (text: string) => chat.ask({ text, files, parentId: message.parent_id, models: chosen })
    return (
      <QuestionView
        step={step}
        onShow={show}
        fileUrl={id => chat.fileUrl(id)}
        onEdit={isStreaming ? undefined : edit}
      />
    )
  }
  const variants = <Variants step={step} onShow={show} />
  const again = (model: string) => void chat.answerAgain(before!.id, [model]).catch(reportError)
  return (
    <>
      <div className={clsx('grid gap-4', beside.length > 1 && 'narrow:grid-cols-2 narrow:gap-8')}>
        {beside.map(one => (
          <AnswerView
            key={one.id}
            message={one}
            models={models}
            onAgain={isStreaming || !before ? undefined : again}
            onChoose={one.id === message.id || isStreaming ? undefined : () => show(one.id)}
            variants={beside.length === 1 && variants}
          />
        ))}
      </div>
      {beside.length > 1 && variants}
    </>
  )
}

/** So near to the end counts as there, in pixels. */
const nearPx = 60

function useFollowedEnd(steps: readonly Step[]) {
  const place = useRef<HTMLDivElement>(null)
  const isFollowing = useRef(true)
  const [isAway, setAway] = useState(false)
  const follow = () => {
    isFollowing.current = true
    setAway(false)
    place.current?.scrollTo({ top: place.current.scrollHeight })
  }
  useEffect(() => {
    const element = place.current!
    const look = () => {
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < nearPx
      isFollowing.current = isNear
      setAway(!isNear)
    }
    element.addEventListener('scroll', look, { passive: true })
    return () => element.removeEventListener('scroll', look)
  }, [])
  const lastId = steps.at(-1)?.message.id
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is new, or another conversation, is seen from its end
  useEffect(follow, [lastId])
  // biome-ignore lint/correctness/useExhaustiveDependencies: every piece of an answer makes it longer, the last one too
  useEffect(() => {
    if (isFollowing.current) place.current!.scrollTop = place.current!.scrollHeight
  }, [steps])
  return { place, isAway, follow }
}
