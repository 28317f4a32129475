import { FileText, Music, X } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { t } from '../chat.page.ts'
import type { Attachment, ChosenFile } from './files.ts'

const thumb = 'size-12 shrink-0 rounded-control object-cover'

/** The files of the next question, each with a button that takes it away. */
export function ChosenFiles({
  files,
  onRemove,
}: {
  readonly files: readonly ChosenFile[]
  readonly onRemove: (key: string) => void
}) {
  if (files.length === 0) return null
  return (
    <ul aria-label={t('chat.files')} className="flex flex-wrap gap-2">
      {files.map(({ key, file, kind, preview }) => (
        <li key={key} className="flex max-w-full items-center gap-2 rounded-control border border-line p-1">
          {preview === null ? <FileIcon kind={kind} /> : <img src={preview} alt="" className={thumb} />}
          <span className="min-w-0 truncate">{file.name}</span>
          <Button
            kind="quiet"
            icon={<X size={14} aria-hidden />}
            aria-label={t('all.remove', { what: file.name })}
            onClick={() => onRemove(key)}
          />
        </li>
      ))}
    </ul>
  )
}

function FileIcon({ kind }: { readonly kind: string }) {
  const Icon = kind === 'audio' ? Music : FileText
  return <Icon size={20} className="m-2 shrink-0 text-muted" aria-hidden />
}

interface SentFilesProps {
  readonly files: readonly Attachment[]
  /** Where the bytes of one are. */
  readonly urlOf: (id: string) => string
}

/** The files of a question that was asked. */
export function SentFiles({ files, urlOf }: SentFilesProps) {
  return (
    <ul aria-label={t('chat.files')} className="flex max-w-(--question) flex-wrap justify-end gap-2">
      {files.map(one => (
        <li key={one.id} className="min-w-0">
          <SentFile file={one} url={urlOf(one.id)} />
        </li>
      ))}
    </ul>
  )
}

function SentFile({ file: { name, media_type: type }, url }: { readonly file: Attachment; readonly url: string }) {
  if (type.startsWith('image/'))
    return (
      <a href={url} target="_blank" rel="noopener noreferrer">
        <img src={url} alt={name} className="max-h-(--picture) max-w-full rounded-panel border border-line" />
      </a>
    )
  if (type.startsWith('audio/'))
    return (
      <figure className="flex flex-col gap-1">
        {/* biome-ignore lint/a11y/useMediaCaption: it is a sound of the person, without a text */}
        <audio controls src={url} className="max-w-full" />
        <figcaption className="truncate text-code text-muted">{name}</figcaption>
      </figure>
    )
  return (
    <a
      href={url}
      download={name}
      className="flex items-center gap-2 rounded-control border border-line p-2 hover:bg-hover"
    >
      <FileText size={16} className="shrink-0 text-muted" aria-hidden />
      <span className="truncate">{name}</span>
    </a>
  )
}
