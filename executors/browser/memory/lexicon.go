package memory

import "strings"

// The lexicon is small on purpose: words that redesigns and translations of controls exchange for one another, in the languages of the
// narration and a few more. What it does not know counts as another word, and then an element needs other evidence of what it is.

// synonyms are words of the same meaning on a control; the first one names the meaning.
var synonyms = []string{
	"sign-in: sign in, log in, login, signin, log on, logon, anmelden, einloggen, se connecter, connexion, iniciar sesión, acceder, ログイン, サインイン, 로그인",
	"sign-out: sign out, log out, logout, signout, log off, abmelden, ausloggen, se déconnecter, déconnexion, cerrar sesión, ログアウト, サインアウト, 로그아웃",
	"sign-up: sign up, signup, register, create account, create an account, join, registrieren, s inscrire, registrarse, 新規登録, 会員登録, 회원가입, 가입하기",
	"save: save, speichern, sichern, enregistrer, sauvegarder, guardar, 保存, 保存する, 저장, 저장하기",
	"delete: delete, remove, trash, löschen, entfernen, supprimer, eliminar, borrar, 削除, 削除する, 삭제, 삭제하기",
	"cancel: cancel, abbrechen, annuler, cancelar, キャンセル, 취소",
	"edit: edit, modify, change, bearbeiten, ändern, modifier, editar, 編集, 編集する, 편집, 수정",
	"add: add, new, create, hinzufügen, neu, anlegen, ajouter, nouveau, créer, añadir, agregar, nuevo, crear, 追加, 追加する, 新規, 新規作成, 추가, 추가하기, 만들기",
	"search: search, find, suche, suchen, rechercher, recherche, buscar, 検索, 検索する, 검색",
	"submit: submit, send, absenden, senden, abschicken, envoyer, enviar, 送信, 送信する, 제출, 보내기, 전송",
	"next: next, continue, proceed, weiter, suivant, continuer, siguiente, continuar, 次へ, 続ける, 다음, 계속",
	"back: back, previous, zurück, retour, précédent, atrás, anterior, volver, 戻る, 前へ, 뒤로, 이전",
	"close: close, dismiss, schließen, fermer, cerrar, 閉じる, 닫기",
	"open: open, öffnen, ouvrir, abrir, 開く, 열기",
	"accept: accept, agree, allow, approve, akzeptieren, zustimmen, annehmen, accepter, aceptar, 同意する, 承認, 同意, 동의, 수락, 승인",
	"decline: decline, reject, deny, refuse, disagree, ablehnen, refuser, rechazar, 拒否, 拒否する, 却下, 거부, 거절",
	"confirm: confirm, bestätigen, confirmer, confirmar, 確認, 確定, 확인",
	"buy: buy, purchase, order, place order, buy now, kaufen, bestellen, acheter, commander, comprar, pedir, 購入, 購入する, 注文する, 구매, 구매하기, 주문하기",
	"cart: cart, basket, bag, warenkorb, panier, carrito, cesta, カート, 장바구니",
	"checkout: checkout, check out, zur kasse, kasse, paiement, pagar, レジに進む, 결제, 결제하기",
	"settings: setting, settings, preference, preferences, option, options, einstellungen, paramètres, préférences, ajustes, configuración, 設定, 설정, 환경설정",
	"help: help, support, hilfe, aide, ayuda, ヘルプ, 도움말",
	"email: email, e mail, email address, e mail address, e mail adresse, adresse e mail, correo electrónico, correo, メールアドレス, メール, 이메일, 이메일 주소",
	"password: password, passwort, kennwort, mot de passe, contraseña, パスワード, 비밀번호",
	"phone: phone, telephone, phone number, telephone number, mobile, telefon, telefonnummer, téléphone, teléfono, 電話番号, 전화번호",
	"postcode: postcode, postal code, zip, zip code, zipcode, plz, postleitzahl, code postal, código postal, 郵便番号, 우편번호",
	"first-name: first name, given name, forename, vorname, prénom, nombre, 名, 이름",
	"last-name: last name, surname, family name, nachname, nom de famille, apellido, apellidos, 姓, 성",
	"download: download, herunterladen, télécharger, descargar, ダウンロード, 다운로드",
	"upload: upload, hochladen, téléverser, subir, アップロード, 업로드",
	"play: play, abspielen, wiedergabe, lire, lecture, reproducir, 再生, 再生する, 재생",
	"pause: pause, pausieren, pausar, 一時停止, 일시정지",
	"start: start, begin, launch, starten, démarrer, commencer, iniciar, empezar, 開始, 開始する, 시작, 시작하기",
	"stop: stop, end, stoppen, beenden, arrêter, detener, 停止, 終了, 중지, 종료",
	"share: share, teilen, partager, compartir, 共有, 共有する, 공유, 공유하기",
	"copy: copy, duplicate, kopieren, copier, copiar, コピー, 複製, 복사",
	"print: print, drucken, imprimer, imprimir, 印刷, 印刷する, 인쇄",
	"home: home, start page, home page, startseite, accueil, inicio, ホーム, 홈",
	"show: show, display, view, anzeigen, afficher, voir, mostrar, ver, 表示, 表示する, 보기, 보이기",
	"hide: hide, ausblenden, masquer, ocultar, 非表示, 隠す, 숨기기",
	"ok: ok, okay",
	"info: detail, details, info, information, informationen",
	"refresh: refresh, reload, aktualisieren, actualiser, actualizar, 更新, 再読み込み, 새로고침",
	"all: all, every, everything, alle, alles, tout, tous, toutes, todo, todos, todas",
	"not: not, no, don t, dont, never, without, nicht, kein, keine, ne, pas, nunca, sin",
	"save-draft: save draft, save as draft, save to drafts, als entwurf speichern, 下書き保存, 임시저장",
	"draft: draft, entwurf, brouillon, borrador",
	"yearly: yearly, annual, annually, jährlich, annuel, anual",
	"monthly: monthly, monatlich, mensuel, mensual",
	"shipping: shipping, delivery, lieferung, livraison, envío",
	"billing: billing, invoice, rechnung, facturation, facturación",
	"photo: photo, picture, image",
}

var meanings = func() map[string]string {
	m := map[string]string{}
	for _, line := range synonyms {
		meaning, words, _ := strings.Cut(line, ": ")
		for w := range strings.SplitSeq(words, ", ") {
			m[w] = meaning
		}
	}
	return m
}()

// fillers are words that tell nothing of what a control does.
var fillers = words(`a an the my your our this that to of for and in at with now here please just it de la le les el los las der die das den dein ihr
	changes item button link page jetzt maintenant ahora`)

// scopes change what a deed is done to, or whether: "Delete all" is not a rewording of "Delete".
var scopes = words("all not draft as other another template permanently forever anyway only")

var wideScopes = []string{"すべて", "全て", "全部", "全員", "一括", "下書き", "しない", "모두", "전체", "전부", "임시", "않"}

var opposites = func() map[[2]string]bool {
	m := map[[2]string]bool{}
	for pair := range strings.FieldsSeq(`accept/decline enable/disable add/delete next/back show/hide open/close play/pause play/stop start/stop on/off yes/not
		increase/decrease up/down left/right sign-in/sign-out sign-in/sign-up sign-out/sign-up save/delete save/cancel submit/cancel confirm/cancel accept/cancel buy/cancel
		delete/cancel edit/delete archive/delete follow/unfollow lock/unlock first/last import/export upload/download minimum/maximum
		undo/redo expand/collapse buy/sell username/password email/password billing/shipping monthly/yearly old/add current/add connect/disconnect
		first-name/last-name include/exclude attach/detach public/private ascending/descending credit/debit deposit/withdraw income/expense
		edit/show copy/delete copy/edit save/submit print/share email/phone pause/stop home/back grant/revoke pin/unpin encrypt/decrypt send/receive
		before/after from/until departure/return arrival/departure pickup/dropoff male/female sender/recipient`) {
		x, y, _ := strings.Cut(pair, "/")
		m[[2]string{x, y}], m[[2]string{y, x}] = true, true
	}
	return m
}()

func words(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}
