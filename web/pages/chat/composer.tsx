import { ArrowUp, Brain, ChevronsUpDown, Columns2, Paperclip, Square, X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import type { KeyboardEvent } from 'react'
import type { ConversationSettings } from '../../api/conversations.ts'
import type { HubModel } from '../../api/model-groups.ts'
import { Button } from '../../components/button.tsx'
import { Form } from '../../components/forms/form.tsx'
import { ErrorState } from '../../components/states.tsx'
import { t } from '../chat.page.ts'
import { ChosenFiles } from './file-list.tsx'
import { acceptedTypes, refusing } from './files.ts'
import { ModelPicker } from './model-picker.tsx'
import { useDraft } from './use-draft.ts'
import type { useFiles } from './use-files.ts'

interface ComposerProps {
  /** Whose draft is typed: the id of a conversation, empty = of a new one, null = of one that is not kept. */
  readonly conversation: string | null
  readonly models: readonly HubModel[]
  /** One, or two for answers side by side. */
  readonly chosen: readonly string[]
  readonly onChosen: (names: readonly string[]) => void
  readonly thinking: ConversationSettings['thinking_mode']
  readonly onThinking: (mode: ConversationSettings['thinking_mode']) => void
  readonly files: ReturnType<typeof useFiles>
  readonly isStreaming: boolean
  /** Rejects where it was refused: what was typed stays. */
  readonly onSend: (text: string) => Promise<void>
  readonly onStop: () => void
}

const isTouch = matchMedia('(pointer: coarse)').matches

const boxClass = 'flex flex-col gap-2 rounded-panel border border-line-control bg-raised p-2 focus-within:border-accent'

/** Enter sends, Shift and Enter makes a line, Escape ends the answer, or leaves the field for the page's keys. */
export function Composer(props: ComposerProps) {
  const { isStreaming, files, onSend, onStop } = props
  const refusal = refusalOf(props)
  const [isSending, setSending] = useState(false)
  const [text, setText] = useDraft(props.conversation, isSending)
  const [error, setError] = useState<unknown>()
  const isEmpty = text.trim() === '' && files.files.length === 0
  const canSend = !isStreaming && !isSending && !isEmpty && refusal === null
  const send = async () => {
    if (!canSend) return
    setSending(true)
    setError(undefined)
    await onSend(text).then(() => setText(''), setError)
    setSending(false)
  }
  return (
    <Form className="mx-auto flex w-full max-w-reading flex-col gap-2" onSubmit={() => void send()}>
      {error !== undefined && <ErrorState error={error} isInline />}
      <div className={boxClass}>
        <ChosenFiles files={files.files} onRemove={files.remove} />
        {refusal && (
          <p role="alert" className="px-2 text-bad">
            {refusal}
          </p>
        )}
        <TextBox
          conversation={props.conversation}
          text={text}
          isStreaming={isStreaming}
          onText={setText}
          onFiles={files.add}
          onEnter={() => void send()}
          onEscape={onStop}
        />
        <div className="flex flex-wrap items-center gap-1">
          <PickFiles onFiles={files.add} />
          <Models {...props} />
          <Thinking {...props} />
          <span className="grow" />
          {isStreaming ? (
            <Button icon={<Square size={14} aria-hidden />} aria-label={t('chat.stop')} onClick={onStop} />
          ) : (
            <Button
              kind="primary"
              type="submit"
              icon={<ArrowUp size={16} aria-hidden />}
              aria-label={t('chat.send')}
              busy={isSending}
              disabled={isEmpty || refusal !== null}
            />
          )}
        </div>
      </div>
    </Form>
  )
}

/** Which model does not take one of the files; null = they can be sent. */
function refusalOf({ files: { files }, models, chosen }: ComposerProps): string | null {
  const chosenModels = models.filter(one => chosen.includes(one.model_group))
  for (const { kind, file } of files) {
    const [model] = refusing(kind, chosenModels)
    if (model !== undefined) return t('chat.fileModel', { model, name: file.name })
  }
  return null
}

/** Opens the dialog of the browser. */
function PickFiles({ onFiles }: { readonly onFiles: (files: Iterable<File>) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept={acceptedTypes}
        aria-label={t('chat.attach')}
        onChange={event => {
          onFiles([...(event.target.files ?? [])])
          // The same file may be picked again.
          event.target.value = ''
        }}
      />
      <Button
        kind="quiet"
        icon={<Paperclip size={16} aria-hidden />}
        aria-label={t('chat.attach')}
        title={t('chat.attachHelp')}
        onClick={() => input.current?.click()}
      />
    </>
  )
}

interface TextBoxProps {
  readonly conversation: ComposerProps['conversation']
  readonly text: string
  readonly isStreaming: boolean
  readonly onFiles: (files: Iterable<File>) => void
  readonly onText: (text: string) => void
  readonly onEnter: () => void
  readonly onEscape: () => void
}

/** Grows with its text, up to a part of the screen. */
function TextBox({ conversation, text, isStreaming, onText, onFiles, onEnter, onEscape }: TextBoxProps) {
  const box = useRef<HTMLTextAreaElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: one types in the conversation that was opened
  useEffect(() => {
    // On touch screens it would bring the keyboard up, over what is read; what has just begun keeps its focus.
    const isInForm = box.current!.form?.contains(document.activeElement)
    if (!isTouch && !isInForm && !document.querySelector('[data-open]')) box.current!.focus()
  }, [conversation])
  // biome-ignore lint/correctness/useExhaustiveDependencies: its height follows from the text
  useEffect(() => {
    const area = box.current!
    area.style.height = 'auto'
    area.style.height = `${area.scrollHeight}px`
  }, [text])
  const press = (event: KeyboardEvent) => {
    // The Enter that ends a composition (Japanese, Chinese) is none of ours.
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Escape') return isStreaming ? onEscape() : box.current!.blur()
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    onEnter()
  }
  return (
    <textarea
      ref={box}
      rows={1}
      aria-label={t('chat.message')}
      placeholder={t('chat.placeholder')}
      value={text}
      onChange={event => onText(event.target.value)}
      onKeyDown={press}
      onPaste={event => {
        if (event.clipboardData.files.length === 0) return
        event.preventDefault()
        onFiles([...event.clipboardData.files])
      }}
      className="max-h-(--composer) touch:min-h-11 resize-none bg-transparent px-2 py-1 outline-none"
    />
  )
}

/** The model, or two of them. */
function Models({ models, chosen, onChosen }: ComposerProps) {
  const [first = '', second] = chosen
  const pick = (label: string, name: string, onPick: (name: string) => void) => (
    <ModelPicker
      models={models}
      value={name}
      onPick={onPick}
      trigger={
        <Button kind="quiet" className="min-w-0 shrink!" aria-label={`${label}: ${name}`}>
          <span className="truncate">{name}</span>
          <ChevronsUpDown size={14} className="shrink-0" aria-hidden />
        </Button>
      }
    />
  )
  if (second !== undefined)
    return (
      <>
        {pick(t('chat.model'), first, name => onChosen([name, second]))}
        {pick(t('chat.secondModel'), second, name => onChosen([first, name]))}
        <Button
          kind="quiet"
          icon={<X size={16} aria-hidden />}
          aria-label={t('chat.oneModel')}
          title={t('chat.oneModel')}
          onClick={() => onChosen([first])}
        />
      </>
    )
  const other = models.find(one => one.model_group !== first)?.model_group ?? first
  return (
    <>
      {pick(t('chat.model'), first, name => onChosen([name]))}
      <Button
        kind="quiet"
        icon={<Columns2 size={16} aria-hidden />}
        aria-label={t('chat.compare')}
        title={t('chat.compare')}
        onClick={() => onChosen([first, other])}
      />
    </>
  )
}

/** Models that know it think unless they are told not to. */
function Thinking({ models, chosen, thinking, onThinking }: ComposerProps) {
  const isKnown = models.some(one => chosen.includes(one.model_group) && one.supports_thinking_mode)
  if (!isKnown) return null
  const isOn = thinking !== 'off'
  return (
    <Button
      kind={isOn ? 'plain' : 'quiet'}
      icon={<Brain size={16} aria-hidden />}
      aria-pressed={isOn}
      onClick={() => onThinking(isOn ? 'off' : 'on')}
    >
      {t('chat.think')}
    </Button>
  )
}
