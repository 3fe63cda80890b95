import { expect, test } from "vitest";
import { asksForStatus, reportsDeed } from "./claims.ts";

test.each([
  "카드가 발급되었어요.",
  "카드 발급이 완료됐습니다!",
  "방금 100,000원을 보냈어요!",
  "이체가 완료되었습니다.",
  "네, 예약을 옮겨 드렸어요.",
  "예약을 내일 3시로 변경했습니다.",
  "자리를 잡아 뒀어요.",
  "요청하신 내용은 모두 처리됐어요.",
  "신청이 접수되었으니 기다려 주세요.",
  "취소 완료!",
  "환불해 드렸습니다.",
  "등록해 놨어요.",
  "주문 넣었어요.",
  "이미 끝났어요.",
  "I have moved it for you.",
  "Your spot is secured.",
  "I've just sent the money.",
  "We already booked your table.",
  "All done, your money was sent.",
  "Your appointment has been cancelled.",
  "You're all set!",
  "Done!",
  "Booked.",
  "It went through.",
  "Great, it's been taken care of.",
  "Your card is now activated.",
  "I went ahead and scheduled it.",
  "Successfully transferred 50,000 won.",
  "The reservation is confirmed. Anything else?",
  "Great news: your card was issued.",
])("a text that reports a deed is one: %s", (text) => {
  expect(reportsDeed(text, ["카드", "예약", "reservation"])).toBe(true);
});

test.each([
  "무엇을 주문할까요?",
  "What shall I order?",
  "예약했나요?",
  "아직 보내지 않았어요.",
  "아직 처리되지 않았습니다.",
  "확인을 누르시면 보내 드려요.",
  "수수료는 없어요.",
  "하루에 백만원까지 보낼 수 있어요.",
  "말씀하신 내용을 이해하지 못했어요.",
  "궁금하셨군요! 이체는 보통 바로 돼요.",
  "오늘은 날씨가 좋네요.",
  "예약이 확정되면 알려 드릴게요.",
  "저는 이체를 도와드려요.",
  "I have not sent anything yet.",
  "Nothing was booked so far.",
  "Once it is confirmed, I will tell you.",
  "Transfers are free.",
  "You can send up to 1,000,000 won a day.",
  "I did not understand that.",
  "I can help you to book a room.",
  "Rooms are limited to 20 people.",
  "Should I send it now?",
  "If it is cancelled, you get your money back.",
  "It will be sent after you say yes.",
  "Hello! How can I help?",
])("a text that reports no deed is none: %s", (text) => {
  expect(reportsDeed(text)).toBe(false);
});

test.each(["Was it ordered?", "주문 됐나요?", "카드 발급됐어요?", "was my appointment moved?"])(
  "a question asks what became of something: %s",
  (text) => {
    expect(asksForStatus(text)).toBe(true);
  },
);
